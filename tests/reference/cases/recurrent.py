"""Recurrent layers: settings, states, and samples of different lengths, which PyTorch packs."""

from case import *

GATES = {"rnn": 1, "lstm": 4, "gru": 3}
KIND = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}


def weights_of(op, features, hidden, num_layers=1, bias=True, bidirectional=False, proj_size=0, **rest):
    gates, out, weights = GATES[op] * hidden, proj_size or hidden, {}
    for layer in range(num_layers):
        for suffix in ("", "_reverse") if bidirectional else ("",):
            width = features if layer == 0 else out * (2 if bidirectional else 1)
            weights[f"weight_ih_l{layer}{suffix}"] = normal(gates, width) * 0.5
            weights[f"weight_hh_l{layer}{suffix}"] = normal(gates, out) * 0.5
            if bias:
                weights[f"bias_ih_l{layer}{suffix}"] = normal(gates) * 0.5
                weights[f"bias_hh_l{layer}{suffix}"] = normal(gates) * 0.5
            if proj_size:
                weights[f"weight_hr_l{layer}{suffix}"] = normal(out, hidden) * 0.5
    return weights


def recurrent(op, steps, batch, features, hidden, states=False, lengths=None, **params):
    layers = params.get("num_layers", 1) * (2 if params.get("bidirectional") else 1)
    first = params.get("batch_first", False)
    x = normal(*((batch, steps) if first else (steps, batch)), features)
    inputs, ports = [x], ["input"]
    if states:
        inputs.append(normal(layers, batch, params.get("proj_size") or hidden))
        ports.append("h_0")
        if op == "lstm":
            inputs.append(normal(layers, batch, hidden))
            ports.append("c_0")
    if lengths is not None:
        inputs.append(np.array(lengths, dtype=np.int64))
        ports.append("lengths")

    def fn(x, w):
        net = getattr(torch.nn, KIND[op])(features, hidden, **params).double().eval()
        given, state = x[0], None
        if states:
            state = (x[1], x[2]) if op == "lstm" else x[1]
        if lengths is not None:
            given = torch.nn.utils.rnn.pack_padded_sequence(given, torch.tensor(lengths), batch_first=first,
                                                            enforce_sorted=False)
        output, last = torch.func.functional_call(net, dict(w), (given, state))
        if lengths is not None:
            output, _ = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=first, total_length=steps)
        named = {"output": output}
        if op == "lstm":
            named["h_n"], named["c_n"] = last
        else:
            named["h_n"] = last
        return named

    case(op, {"hidden_size": hidden, **params}, inputs, fn, weights=weights_of(op, features, hidden, **params), ports=ports)


for op in GATES:
    recurrent(op, 5, 4, 3, 4)
    recurrent(op, 1, 2, 1, 1, states=True)
    recurrent(op, 3, 2, 3, 2, bias=False)
    recurrent(op, 4, 3, 2, 3, states=True, num_layers=2, bidirectional=True)
    recurrent(op, 4, 3, 2, 3, batch_first=True, num_layers=3)
    recurrent(op, 5, 3, 2, 3, lengths=[5, 2, 3])
    recurrent(op, 4, 4, 2, 2, states=True, lengths=[1, 4, 2, 3], batch_first=True, num_layers=2, bidirectional=True)
recurrent("rnn", 4, 2, 3, 3, nonlinearity="relu", states=True)
recurrent("lstm", 4, 2, 3, 4, proj_size=2, states=True)
recurrent("lstm", 3, 2, 3, 4, proj_size=3, num_layers=2, bidirectional=True, bias=False)
recurrent("lstm", 4, 3, 2, 3, proj_size=2, lengths=[2, 4, 1])

# Small ones that data/ has room for: both directions, several layers, and dropout between them, which evaluation leaves out.
for op in GATES:
    recurrent(op, 3, 2, 2, 2, states=True, num_layers=2, bidirectional=True, dropout=0.5)
    recurrent(op, 3, 3, 1, 2, lengths=[2, 3, 1], bidirectional=True, bias=False, batch_first=True)
