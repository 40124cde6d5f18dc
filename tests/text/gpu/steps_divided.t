# A sum in steps that reads the row of the step before: the threads of a block divide its row, because that row is not written in this step.
--- rnn.tc
def rnn(float(T,D) X, float(D,D) W) -> (Y) {
    Y(0,d) = X(0,d)
    for t in 1:T { Y(t,d) +=! Y(t-1,e) * W(e,d) }
}
--- threads.lws
Y.1: t d:thread.x e
$ loopwright run rnn.tc --size T=13,D=62 --device emulate --schedule threads.lws --check | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright show rnn.tc --size T=13,D=62 --stage ptx --schedule threads.lws | grep maxntid | tail -1
.maxntid 62, 1, 1
