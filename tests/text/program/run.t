# Program text runs: the values are written out.
--- all.lwp
program all {
    output C: f32[4]
    output H: i32[3]
    output h: f16[2]
    output e: f32[2]
    temp t: i64[4]
    t: for i in 0:4
        t[i] = index(i*i%3)
    C: for i in 0:4, k in 0:3 if i + k - 1 >= 0, 4 - i - k >= 0
        C[i] +=! f32(t[i + k - 1])*2.0
    H: for i in 0:4
        H[t[i]] +=! 1
    h: for i in 0:2
        h[i] = f16(2049.0 + f32(index(i)))
    e: for i in 0:2, k in 0:0
        e[i] max=! f32(index(k))
}
$ loopwright run all.lwp | grep -v backend
all() -> (f32(4) C, i32(3) H, f16(2) h, f32(2) e)
  sizes    no sizes
  out      f32(4) C: checksum ce3b893bf9833465
           [2, 4, 4, 2]
  out      i32(3) H: checksum 00f92a08bcce41b5
           [2, 2, 0]
  out      f16(2) h: checksum f2a7307ed98bfb9c
           [2048, 2050]
  out      f32(2) e: checksum 8af0f8cc27bfd475
           [-inf, -inf]
