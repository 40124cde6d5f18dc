# One bool guards operations of different widths in one kernel: AVX-512 must not take the mask of the narrow one for the wide one.
--- k.tc
def k(bool(M,N) A, int64(M,N) B, int(N) x, bfloat16(M) y, bool s) -> (t5, t8) {
    t5(j) = int((int((uint16((uint8(s) >> 1)) - uint16(s))) & 15)) where j in 0:N
    t6 +=! ((A(i,j) && (A(i,j) < x(j))) ? max(0, 0) : (B(i,j) - int(i)))
    t7(i) = int16((s ? int(i) : (int((int64(y(i)) / 7)) & 15))) where i in 0:M
    t8(j) = select(s, ((x(j) <= 1.0) ? (int8(x(j)) + int8(int(j))) : (int(int(j)) & 15)), (int16(s) / 3))
}
$ for s in 3 4; do loopwright run k.tc --size M=1,N=52 --check --db none --seed $s | tail -1; done
  check    right: bit for bit, against the interpreter, but not t5
  check    right: bit for bit, against the interpreter, but not t5
