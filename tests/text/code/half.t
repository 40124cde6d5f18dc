# From f64 to f16 and bf16 by way of f32, on every back-end: the first two are ties only after the first rounding.
--- h.lwp
program h {
    input A: f64[3]
    output H: f16[3]
    output B: bf16[3]
    H: for i in 0:3
        H[i] = f16(A[i])
    B: for i in 0:3
        B[i] = bf16(A[i])
}
$ @/tests/npy write a.npy '<f8' 3 1.0004882812509095 1.00390625000001 0.333333333333
$ for b in interp tree c jit; do loopwright run h.lwp --in A=a.npy --backend $b | tail -4; done
  out      f16(3) H: checksum 220094c53c5044eb
           [1, 1.004, 0.3333]
  out      bf16(3) B: checksum 223ad2c6b3e3d1a4
           [1, 1, 0.334]
  out      f16(3) H: checksum 220094c53c5044eb
           [1, 1.004, 0.3333]
  out      bf16(3) B: checksum 223ad2c6b3e3d1a4
           [1, 1, 0.334]
  out      f16(3) H: checksum 220094c53c5044eb
           [1, 1.004, 0.3333]
  out      bf16(3) B: checksum 223ad2c6b3e3d1a4
           [1, 1, 0.334]
  out      f16(3) H: checksum 220094c53c5044eb
           [1, 1.004, 0.3333]
  out      bf16(3) B: checksum 223ad2c6b3e3d1a4
           [1, 1, 0.334]
