# The worked example of docs/passes.md: a convolution tiled, copied into SRAM and given to a matrix unit.
--- conv.tc
def conv(float(X,C) I, float(KX,C,F) K) -> (O) {
    O(x,f) +=! I(x + i, c) * K(i,c,f)
}
$ loopwright passes conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --explain
flatten      O: #zero, iterations in any order
             O: #contraction, iterations in any order
tile         O: 32x8x3x8 of 32x16x3x16, cost 0.11935; 1x1x1x1 would cost 4.01458; 735 tiles tried
cache        O: I: 1088 bytes
             O: K: 768 bytes
             O: O: 1024 bytes
stencil      O: mac as 4x4x1x8, cost 7680, the least of 2
$ loopwright passes conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm
for x in 32, f in 16 any
  O[x, f] = 0.0
for f in 2, c in 2 any
  I.copy f32[34, 8] 1088 B
  K.copy f32[3, 8, 8] 768 B
  O.copy f32[32, 8] 1024 B
  for d0 in 32, d1 in 8 any
    O.copy[d0, d1] = -0.0
  for d0 in 3, d1 in 8, d2 in 8 any
    K.copy[d0, d1, d2] = K[d0, 8*c + d1, 8*f + d2]
  for d0 in 34, d1 in 8 any
    I.copy[d0, d1] = I[d0, 8*c + d1]
  for x in 8, f.1 in 2, i in 3 any
    for x.1 in 4, f.2 in 4, c.1 in 8 any
      O.copy[4*x + x.1, 4*f.1 + f.2] += I.copy[i + 4*x + x.1, c.1]*K.copy[i, c.1, 4*f.1 + f.2]
  for d0 in 32, d1 in 8 any
    O[d0, 8*f + d1] += O.copy[d0, d1]
$ loopwright run conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright passes conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --until tile --stage stripe > tiled.stripe && loopwright run tiled.stripe --as-written --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright passes conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --html -o page.html && grep -c 'id="data"' page.html
page.html
1
$ loopwright passes conv.tc --size X=34,C=16,KX=3,F=16 --machine @/examples/machines/toy.lwm --until cache --json | sed 's/.*"units"/"units"/'
"units": [{"name": "DRAM", "size": 0}, {"name": "SRAM", "size": 4096}], "blocks": [{"line": 1, "bytes": [2048, 0]}, {"line": 3, "bytes": [7296, 2880]}, {"line": 7, "bytes": [0, 1024]}, {"line": 9, "bytes": [768, 768]}, {"line": 11, "bytes": [1088, 1088]}, {"line": 13, "bytes": [0, 2880]}, {"line": 15, "bytes": [1024, 1024]}]}], "diagnostics": [], "ok": true}
