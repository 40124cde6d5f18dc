# A layer with bias and ReLU on the accelerator: fused, each result is stored once; unfused, sums are stored and loaded. With less room there are two copies of a buffer instead of three.
$ for m in fused unfused; do loopwright simulate @/examples/tc/resnet50.tc --def layer --size C=16,H=18,W=18,K=32,R=3,S=3 --machine @/examples/machines/$m.lwm --check | grep 'cycles\|moved\|check'; done
  cycles   5013; at least 4504, bound by transfers: 89.8 % of what the machine allows
  moved    72064 bytes; at least 72064
  check    executed: the same tasks, the right results
  cycles   9496; at least 4504, bound by transfers: 47.4 % of what the machine allows
  moved    137600 bytes; at least 72064
  check    executed: the same tasks, the right results
$ loopwright passes @/examples/tc/resnet50.tc --def layer --size C=16,H=18,W=18,K=32,R=3,S=3 --machine @/examples/machines/fused.lwm | tail -15
  for d0 in 16 any
    b.copy[d0] = b[16*k + d0]
  for d0 in 16, d1 in 16, d2 in 3, d3 in 3 any
    F.copy[d0, d1, d2, d3] = F[16*k + d0, d1, d2, d3]
  for y in 4 any
    for y.1 in 4 any
      T f32[16, 1, 16] 1024 B
      for k.1 in 16, x in 16 any
        T[k.1, 0, x] = 0.0
      for k.1 in 16, x in 16, c in 16, r in 3, s in 3 any
        T[k.1, 0, x] += I.copy[c, r + 4*y + y.1, x + s]*F.copy[k.1, c, r, s]
      for k.1 in 16, x in 16 any
        O.copy[k.1, 4*y + y.1, x] = fmax(T[k.1, 0, x] + b.copy[k.1], 0.0)
  for d0 in 16, d1 in 16, d2 in 16 any
    O[16*k + d0, d1, d2] = O.copy[d0, d1, d2]
$ (cat @/examples/machines/fused.lwm; echo 'memory SRAM size=17KiB') > small.lwm; loopwright simulate @/examples/tc/resnet50.tc --def layer --size C=16,H=18,W=18,K=32,R=3,S=3 --machine small.lwm --check | grep 'cycles\|memory\|check'; loopwright passes @/examples/tc/resnet50.tc --def layer --size C=16,H=18,W=18,K=32,R=3,S=3 --machine small.lwm --explain | grep -A4 ^schedule
  cycles   9138; at least 4504, bound by transfers: 49.3 % of what the machine allows
  memory   SRAM: 30592 of 34816 bytes in use
  check    executed: the same tasks, the right results
schedule     T: 2x1 of 2x16 by y, 8913 cycles: transfers 8840, compute 1168; 8 plans tried
             T: I: 3456 bytes at 0, for each y, 2 copies
             T: F: 18432 bytes at 6912, once
             T: b: 128 bytes at 25344, once
             T: O: 2048 bytes at 25472, for each y, 2 copies
