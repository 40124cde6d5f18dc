# Units that share a memory: their buffers there lie next to each other, whichever pass places them.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- units
memory DRAM
memory SRAM in=DRAM size=2KiB align=16
compute PROC in=SRAM count=2
transfer DMA from=DRAM to=SRAM bandwidth=8 latency=10
pass flatten
--- list1
pass partition reqs=#contraction unit=PROC
pass schedule reqs=#contraction unit=SRAM move=DMA
--- list2
pass partition reqs=#contraction unit=PROC outer=#procs
pass cache reqs=#procs unit=SRAM move=DMA
pass place unit=SRAM
--- list3
pass schedule reqs=#contraction unit=SRAM move=DMA stages=3 inner=#tile
pass schedule as=again unit=SRAM move=DMA
--- list4
pass schedule reqs=#contraction unit=SRAM move=DMA stages=3 inner=#tile
pass partition reqs=#tile unit=PROC outer=#procs
pass cache reqs=#procs unit=SRAM move=DMA in=no odd=2
pass place unit=SRAM
--- list5
pass schedule unit=SRAM move=DMA inner=#tile
pass schedule as=again unit=SRAM move=DMA keep=yes
$ for n in 1 2 3 4 5; do (echo machine list$n; cat units list$n) > m$n.lwm; loopwright simulate mm.tc --size M=9,N=7,K=5 --machine m$n.lwm --check | grep 'memory\|check'; done
  memory   SRAM: 544 of 2048 bytes in use
  check    executed: the same tasks, the right results
  memory   SRAM: 800 of 2048 bytes in use
  check    executed: the same tasks, the right results
  memory   SRAM: 896 of 2048 bytes in use
  check    executed: the same tasks, the right results
  memory   SRAM: 336 of 2048 bytes in use
  check    executed: the same tasks, the right results
  memory   SRAM: 864 of 2048 bytes in use
  check    executed: the same tasks, the right results
$ sed s/2KiB/400/ m2.lwm > small.lwm; loopwright passes mm.tc --size M=9,N=7,K=5 --machine small.lwm --explain | grep -A2 cache
cache        C: A: 100 bytes
             C: left alone: B needs 140 bytes, 100 are left
             C: left alone: C needs 140 bytes, 100 are left
