# Places by hand, and other numbers of the chip on paper: docs/simulator.md.
$ loopwright simulate @/examples/stripe/located.stripe --as-written --machine @/examples/machines/units.lwm --check
double(f32(64) A) -> (f32(64) C)
  sizes    no sizes
  cycles   544; at least 32, bound by transfers: 5.9 % of what the machine allows
  moved    512 bytes; at least 512
  memory   SRAM: 256 of 8192 bytes in use
  unit     DMA: busy 100.0 %, 8 tasks
  unit     PROC 1: busy 5.9 %, 32 tasks
  unit     PROC 0: busy 5.9 %, 32 tasks
  check    executed: the same tasks, the right results
$ sed 's/to=PAD bandwidth=8/to=PAD bandwidth=4/' @/examples/machines/chip.lwm > slow.lwm
$ loopwright simulate @/examples/tc/resnet50.tc --def conv --size C=64,H=58,W=58,K=64,R=3,S=3 --machine slow.lwm | grep 'cycles\|moved'
  cycles   2199176; at least 1806336, bound by compute: 82.1 % of what the machine allows
  moved    7168000 bytes; at least 1811456
$ sed 's/size=64KiB/size=256KiB/' @/examples/machines/chip.lwm > large.lwm
$ loopwright simulate @/examples/tc/resnet50.tc --def conv --size C=64,H=58,W=58,K=64,R=3,S=3 --machine large.lwm | grep cycles
  cycles   1856012; at least 1806336, bound by compute: 97.3 % of what the machine allows
