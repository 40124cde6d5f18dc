# The kernels of Table 1 under the paths of Table 2: every function equals the interpreter.
$ cd @/examples/teml && for f in *.teml; do for d in $(loopwright check $f | sed 's/(.*//'); do echo $f $d $(loopwright run $f --def $d --check | grep check); done; done
blur.teml blur check right: bit for bit, against the interpreter
bmm.teml bmm check right: bit for bit, against the interpreter
coars.teml coars check right: bit for bit, against the interpreter
gconv.teml gconv check right: bit for bit, against the interpreter
gconv.teml unrolled check right: bit for bit, against the interpreter
helm.teml helm check right: bit for bit, against the interpreter
helm.teml permuted check right: bit for bit, against the interpreter
holes.teml mm check right: bit for bit, against the interpreter
interp.teml interp check right: bit for bit, against the interpreter
interp.teml permuted check right: bit for bit, against the interpreter
mm.teml mm check right: bit for bit, against the interpreter
mttkrp.teml pluto check right: bit for bit, against the interpreter
mttkrp.teml transposed check right: bit for bit, against the interpreter
sddmm.teml sddmm check right: bit for bit, against the interpreter
tmm.teml tmm check right: bit for bit, against the interpreter
