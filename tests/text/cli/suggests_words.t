# Words that are almost right get a suggestion, whatever takes them.
--- f.tc
def f(float(N) A) -> (O) { O(i) = A(i) + 1 }
$ loopwright run f.tc --size N=4 --schedule navie
--- stderr
error: cannot open 'navie': No such file or directory; did you mean 'naive'?
--- exit 1
$ loopwright run f.tc --size N=4 --schedule other.lws
--- stderr
error: cannot open 'other.lws': No such file or directory
--- exit 1
$ loopwright run f.tc --size N=4 --device emulat
--- stderr
error: device 'emulat': no device is called 'emulat'; did you mean 'emulate'?
--- exit 1
$ loopwright run f.tc --size N=4 --device gpu
--- stderr
error: device 'gpu': no device is called 'gpu'; there are cuda:0, cuda:1 ... and emulate
--- exit 1
$ loopwright compile f.tc --size N=4 --emit object -o f.o
--- stderr
loopwright compile: --emit takes c, obj, asm, so, ptx, stripe or cubin, not 'object'; did you mean 'obj'?
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright tune f.tc --size N=4 --strategy exhaust
--- stderr
loopwright tune: 'exhaust' is not a valid strategy; there are auto, random, exhaustive, greedy, beam, genetic, mcts, sweep, poly; did you mean 'exhaustive'?
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
