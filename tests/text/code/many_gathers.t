A program whose unrolled gathers outgrow the table of equal operations compiles.
--- g.tc
def f(int(M) A1, u8(M, N) B2, int32(N) B6, i32(N) X8) -> (T3, T7, T9) {
    T3(w, m) = A1(B2(w, m))
    T7(c) = B6(c % N) where c in 0:4 * N
    T9(t) = X8(t) * B6(t) * (X8(t) - B6(t)) * (t > N - 3 ? B6(t) : B6(t) * 2)
    T7(u) += T7(u) * T7(u)
}
$ loopwright run g.tc --size M=37,N=65 --check | tail -1
  check    right: bit for bit, against the interpreter
