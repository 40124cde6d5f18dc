# The example of docs/simulator.md, its timeline, and what the command refuses.
--- conv.tc
def conv(float(X,C) I, float(KX,C,F) K) -> (O) {
    O(x,f) +=! I(x + i, c) * K(i,c,f)
}
$ loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --check
conv(f32(X, C) I, f32(KX, C, F) K) -> (f32(X - KX + 1, F) O)
  sizes    X = 34, C = 16, KX = 3, F = 16
  cycles   32732; at least 12288, bound by compute: 37.5 % of what the machine allows
  stencils 24576 products in 192 starts, 37.5 % of the peak
  moved    15616 bytes; at least 7296
  memory   SRAM: 2880 of 8192 bytes in use
  unit     PROC 0: busy 95.4 %, 5 tasks
  unit     DMA: busy 5.3 %, 16 tasks
  check    executed: the same tasks, the right results
$ loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --timeline t.svg --json
{"command": "simulate", "file": "conv.tc", "simulation": {"cycles": 32732, "least": 12288, "bound_by": "compute", "moved": 15616, "least_moved": 7296, "starts": 192, "products": 24576, "ops": 512, "utilisation": 0.3754, "of_least": 0.3754, "memory": [{"name": "DRAM", "size": 0, "used": 0, "accessed": 17664}, {"name": "SRAM", "size": 8192, "used": 2880, "accessed": 89344}], "units": [{"name": "PROC 0", "busy": 31232, "tasks": 5}, {"name": "DMA", "busy": 1744, "tasks": 16}]}, "timeline": "t.svg", "diagnostics": [], "ok": true}
$ grep -c '<rect' t.svg && grep '>DMA<\|>PROC\|cycles on' t.svg && grep -c 'load I' t.svg && tail -1 t.svg
22
<text x="10" y="18" font-size="13">conv: 32732 cycles on toy</text>
<text x="10" y="62">PROC 0</text>
<text x="10" y="90">DMA</text>
4
</svg>
$ loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --until flatten | grep moved
  moved    0 bytes; at least 7296
$ loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16
--- stderr
loopwright simulate: which machine? --machine accelerator, or a file
usage: loopwright simulate FILE [options]; --help explains them
--- exit 2
$ loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16 --machine accelerator --until tile --check
--- stderr
loopwright simulate: --check executes the loops after all passes: leave out --until
usage: loopwright simulate FILE [options]; --help explains them
--- exit 2
# A stencil for another type changes nothing.
$ (cat @/examples/machines/toy.lwm; printf 'stencil other type=i8 rate=4096\n  index m size=16 out=any in=any,0\n  index n size=16 out=1 in=0,1\n  index k size=any out=0 in=any,any\n') > other.lwm; loopwright simulate conv.tc --size X=34,C=16,KX=3,F=16 --machine other.lwm | grep cycles
  cycles   32732; at least 12288, bound by compute: 37.5 % of what the machine allows
