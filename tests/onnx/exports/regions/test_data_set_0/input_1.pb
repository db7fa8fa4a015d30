BroisJPE)AH—Aï ÃAb;ïAô•?Yö–AØžA…ú
Bƒ‡›@–ê@‰\4AJ@…Aø¬Aà@–šA1ÏuAýt!A¿d²¿]ïhAÌ‡@