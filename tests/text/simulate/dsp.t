# A machine with two memories behind each other: docs/machines.md.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright simulate mm.tc --size M=100,N=90,K=70 --machine @/examples/machines/dsp.lwm --check
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 100, K = 70, N = 90
  cycles   20682; at least 11150, bound by transfers: 53.9 % of what the machine allows
  stencils 630000 products in 1560 starts, 5.9 % of the peak
  moved    354400 bytes; at least 89200
  memory   L2RAM: 48512 of 262144 bytes in use
  memory   L1RAM: 12464 of 65536 bytes in use
  unit     DMA: busy 71.9 %, 19 tasks
  unit     MOVE: busy 54.0 %, 132 tasks
  unit     CORE 0: busy 60.3 %, 60 tasks
  note     the bandwidth of L1RAM limits computing: 12480 cycles instead of 1620
  check    executed: the same tasks, the right results
$ loopwright passes mm.tc --size M=256,N=256,K=256 --machine @/examples/machines/dsp.lwm --explain | grep ' of .* by '
outer        C: 128x64x32 of 256x256x256 by m n k, 269912 cycles: transfers 256576, compute 262144; 2442 plans tried
inner        C: 32x8x32 of 128x64x32 by m n, 4348 cycles: transfers 3920, compute 4096; 1176 plans tried
