"use strict";

// Programs to begin with: name, program, inputs.
const EXAMPLES = [
  ["A hook after the use", `import d2s as paddle

def f(x):
    y = x * x
    z = 3 * y
    y.register_hook(lambda g: g + 1)
    return z
`, "x = [2.0]"],
  ["A loop on a tensor", `import d2s as paddle

def halve(x):
    while x.sum() > 1:
        y = x / 2
        y.register_hook(lambda g: g * g)
        x = y
    return x
`, "x = [12.0]"],
  ["Branches", `import d2s as paddle

def f(x, limit):
    if x.max() > limit:
        y = x.clip(-1.0, 1.0)
    elif x.sum() > 0:
        y = x * x
    else:
        return -x
    y.register_hook(lambda g: 2 * g)
    return y.sum()
`, "x = [0.5, 1.5]\nlimit = 2.0"],
  ["A network", `import d2s as paddle
from d2s import nn

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.output = nn.Linear(8, 3)

    def forward(self, x, labels):
        features = nn.functional.relu(self.hidden(x))
        scores = self.output(features)
        features.register_hook(lambda g: g.clip(-0.1, 0.1))
        return nn.functional.cross_entropy(scores, labels)

net = Net()
`, "x = float32[5, 4]\nlabels = [0, 2, 1, 1, 0]"],
  ["Effects happen on every call", `import d2s as paddle

seen = []

def f(x):
    y = x * 2
    seen.append(y.item())
    print("sum", y.sum().item(), "of", len(seen))
    return y
`, "x = [3.0]"],
  ["What is refused", `import d2s as paddle

def f(x):
    parts = [x]
    while x.sum() > 1:
        x = x / 2
        parts.append(x)
    return [a + b for a, b in zip(parts, parts, strict=True)]
`, "x = [8.0]"],
];
