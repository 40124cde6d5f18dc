# The chip on paper of docs/simulator.md, and a layer of ResNet-50 on the shipped accelerator.
$ loopwright simulate @/examples/tc/resnet50.tc --def conv --size C=64,H=58,W=58,K=64,R=3,S=3 --machine @/examples/machines/chip.lwm
conv(f32(C, H, W) I, f32(K, C, R, S) F) -> (f32(K, H - R + 1, W - S + 1) O)
  sizes    C = 64, H = 58, W = 58, K = 64, R = 3, S = 3
  cycles   1983648; at least 1806336, bound by compute: 91.1 % of what the machine allows
  stencils 115605504 products in 112896 starts, 91.1 % of the peak
  moved    13045760 bytes; at least 1811456
  memory   PAD: 39424 of 65536 bytes in use
  unit     DMA: busy 91.4 %, 1960 tasks
  unit     CORE 0: busy 96.8 %, 784 tasks
$ loopwright simulate @/examples/tc/resnet50.tc --def conv --size C=16,H=10,W=10,K=16,R=3,S=3 --machine @/examples/machines/chip.lwm --check | tail -1
  check    executed: the same tasks, the right results
$ loopwright simulate @/examples/tc/resnet50.tc --def conv_s2 --size C=16,H=11,W=11,K=32,R=1,S=1 --machine accelerator --check
conv_s2(f32(C, H, W) I, f32(K, C, R, S) F) -> (f32(K, (H - R)/2 + 1, (W - S)/2 + 1) O)
  sizes    C = 16, H = 11, W = 11, K = 32, R = 1, S = 1
  cycles   835; at least 560, bound by transfers: 67.1 % of what the machine allows
  stencils 18432 products in 8 starts, 2.2 % of the peak
  moved    8960 bytes; at least 8960
  memory   SRAM: 8960 of 786432 bytes in use
  unit     DMA: busy 92.2 %, 4 tasks
  unit     PROC 1: busy 7.8 %, 1 task
  unit     PROC 0: busy 7.8 %, 1 task
  check    executed: the same tasks, the right results
$ loopwright passes @/examples/tc/resnet50.tc --def conv --size C=128,H=30,W=30,K=128,R=3,S=3 --machine accelerator --explain
flatten      O: #zero, iterations in any order
             O: #contraction, iterations in any order
dead         -
single       -
locate       -
schedule     O: 64x28x28x16x3x3 of 128x28x28x128x3x3 by k c, 132418 cycles: transfers 121728, compute 113778; 19552 plans tried
             O: I: 57600 bytes at 0, for each c, 3 copies
             O: F: 36864 bytes at 172800, for each c, 3 copies
             O: O: 200704 bytes at 283392, for each k, 2 copies
initialize   O: O starts where it is stored
stencil      O: mac4x4 as 16x4x4x16x1x1, cost 7281792, the least of 18
partition    O: k in 4 parts of 1
constraints  -
prune        done
deps         done
$ loopwright simulate @/examples/tc/resnet50.tc --def conv --size C=128,H=30,W=30,K=128,R=3,S=3 --machine @/examples/machines/untiled.lwm | grep cycles
  cycles   4089344; at least 112896, bound by compute: 2.8 % of what the machine allows
  note     blocks without a place, which work on DRAM directly, take 100.0 % of the cycles: `passes --explain` says why they stayed
