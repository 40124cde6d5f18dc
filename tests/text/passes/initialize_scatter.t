The initialisation of a scatter stays in front of its loop: an index may occur twice, or never.
--- h.tc
def h(int(P) B, float(P) W) -> (float(P) T) { T(B(r)) +=! W(r) }
$ loopwright passes h.tc --size P=8 --machine accelerator --explain | grep -A1 ^initialize
initialize   T: left alone: data say where its results are stored
stencil      no block has #tile
$ loopwright simulate h.tc --size P=8 --machine accelerator --check | tail -1
  check    executed: the same tasks, the right results
