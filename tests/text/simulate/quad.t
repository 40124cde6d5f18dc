# Four cores, each with a scratchpad of its own: docs/machines.md. The cores work side by side, each in its own copy.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- cluster.lwm
machine cluster
memory DRAM bandwidth=16
memory L2 in=DRAM size=64KiB bandwidth=64 align=16
memory PAD in=L2 size=4KiB bandwidth=64 align=16
compute CLUSTER in=L2 own=yes count=2
compute PE of=CLUSTER in=PAD own=yes count=2 rate=4
transfer DMA from=DRAM to=L2 bandwidth=16 latency=50
transfer MOVE of=PE from=L2 to=PAD bandwidth=16 latency=10
pass flatten
pass partition as=clusters reqs=#contraction unit=CLUSTER
pass schedule as=outer reqs=#contraction unit=L2 move=DMA inner=#mid
pass partition as=elements reqs=#mid unit=PE
pass schedule as=inner reqs=#mid unit=PAD move=MOVE
pass initialize
pass prune
$ loopwright simulate mm.tc --size M=100,N=90,K=70 --machine @/examples/machines/quad.lwm --check
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 100, K = 70, N = 90
  cycles   7303; at least 5575, bound by transfers: 76.3 % of what the machine allows
  stencils 630000 products in 1680 starts, 33.7 % of the peak
  moved    346000 bytes; at least 89200
  memory   L2RAM: 68992 of 524288 bytes in use
  memory   PAD 0: 9184 of 32768 bytes in use, 453960 accessed
  memory   PAD 1: 9184 of 32768 bytes in use, 453960 accessed
  memory   PAD 2: 9184 of 32768 bytes in use, 453960 accessed
  memory   PAD 3: 9184 of 32768 bytes in use, 453960 accessed
  unit     DMA: busy 93.6 %, 10 tasks
  unit     MOVE 3: busy 37.7 %, 36 tasks
  unit     CORE 3: busy 41.7 %, 15 tasks
  unit     MOVE 2: busy 37.7 %, 36 tasks
  unit     CORE 2: busy 41.7 %, 15 tasks
  unit     MOVE 1: busy 37.7 %, 36 tasks
  unit     CORE 1: busy 41.7 %, 15 tasks
  unit     MOVE 0: busy 37.7 %, 36 tasks
  unit     CORE 0: busy 41.7 %, 15 tasks
  check    executed: the same tasks, the right results
$ { cat @/examples/machines/quad.lwm; echo 'compute CORE count=1'; } > one.lwm
$ loopwright simulate mm.tc --size M=100,N=90,K=70 --machine one.lwm --check | grep 'cycles\|check\|PAD'
  cycles   15386; at least 9844, bound by compute: 64.0 % of what the machine allows
  memory   PAD 0: 10896 of 32768 bytes in use, 1646000 accessed
  check    executed: the same tasks, the right results
$ loopwright machine --describe @/examples/machines/quad.lwm | grep 'PAD\|CORE'
memory PAD in=L2RAM size=32KiB align=16 bandwidth=128
compute CORE in=PAD own=yes count=4 rate=8
transfer MOVE from=L2RAM to=PAD of=CORE bandwidth=32 latency=20
pass partition as=cores reqs=#mid unit=CORE outer=#cores
pass schedule as=inner reqs=#mid unit=PAD move=MOVE inner=#tile
pass partition as=cores.eltwise reqs=#part unit=CORE
pass schedule as=inner.eltwise reqs=#part unit=PAD move=MOVE
$ loopwright machine --describe @/examples/machines/quad.lwm > again.lwm
$ loopwright machine --describe again.lwm | cmp - again.lwm
$ loopwright simulate mm.tc --size M=100,N=90,K=70 --machine @/examples/machines/quad.lwm --json | grep -o '"copies": [^]]*]'
"copies": [{"used": 9184, "accessed": 453960}, {"used": 9184, "accessed": 453960}, {"used": 9184, "accessed": 453960}, {"used": 9184, "accessed": 453960}]
$ loopwright simulate mm.tc --size M=64,N=48,K=32 --machine cluster.lwm --check
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 64, K = 32, N = 48
  cycles   13748; at least 1664, bound by transfers: 12.1 % of what the machine allows
  moved    299008 bytes; at least 26624
  memory   L2 0: 3328 of 65536 bytes in use, 155648 accessed
  memory   L2 1: 3328 of 65536 bytes in use, 155648 accessed
  memory   PAD 0: 448 of 4096 bytes in use, 450560 accessed
  memory   PAD 1: 448 of 4096 bytes in use, 450560 accessed
  memory   PAD 2: 448 of 4096 bytes in use, 450560 accessed
  memory   PAD 3: 448 of 4096 bytes in use, 450560 accessed
  unit     DMA: busy 85.4 %, 160 tasks
  unit     MOVE 3: busy 89.4 %, 1216 tasks
  unit     PE 3: busy 89.4 %, 384 tasks
  unit     MOVE 2: busy 89.4 %, 1216 tasks
  unit     PE 2: busy 89.4 %, 384 tasks
  unit     MOVE 1: busy 89.4 %, 1216 tasks
  unit     PE 1: busy 89.4 %, 384 tasks
  unit     MOVE 0: busy 89.4 %, 1216 tasks
  unit     PE 0: busy 89.4 %, 384 tasks
  check    executed: the same tasks, the right results
