Two passes that keep tensors in one unit give them different places; a block that runs on no core uses no scratchpad of a core.
--- q.tc
def q(u16(K) W1, i8(M, M) X7) -> (T9, T19) {
    T3(f) = W1(f) + 1
    T8(w) max=! X7(w, x)
    T9(w) max=! X7(w, x) + T8(w)
    T19(q) = T3(q) * 2
}
def s(float(N) A) -> (S, T) {
    B(i) = A(i) * 2
    S +=! B(b) * B(b)
    T(i) = B(i) + A(i)
}
$ loopwright simulate q.tc --def q --size M=8,K=49 --machine @/examples/machines/quad.lwm --check | tail -1
  check    executed: the same tasks, the right results
$ loopwright simulate q.tc --def s --size N=49 --machine @/examples/machines/quad.lwm --check | tail -1
  check    executed: the same tasks, the right results
$ loopwright passes q.tc --def s --size N=49 --machine @/examples/machines/quad.lwm --explain | grep CORE
inner        S: left alone: it runs on no CORE, each of which has its own PAD
