# Devices: the emulator is everywhere, a GPU is not.
--- mm.tc
def mm(int32(M,K) A, int32(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
$ loopwright machine --device emulate
PTX emulator, emulate
  sm_90, 132 processors of 1980 MHz, shared 227 KiB, L2 60 MiB, memory 64 GiB
$ loopwright machine --device emulate --json
{{.*"device": \{"format": 1, "model": "PTX emulator", "target": "sm_90", .*"cached": null, "measured": false.*}}
$ loopwright machine --device gpu
--- stderr
error: device 'gpu': no device is called 'gpu'; there are cuda:0, cuda:1 ... and emulate
--- exit 1
$ loopwright machine --device cuda:99
--- stderr
error: device 'cuda:99': {{this machine has no CUDA driver .*|there is no cuda:99.*}}
--- exit 1
# One program, unchanged, on every back-end.
$ for b in '--backend interp' '--backend tree' '--backend c' '--backend jit' '--device emulate'; do loopwright run mm.tc --size M=37,K=21,N=9 --seed 3 $b | grep checksum; done | uniq -c | tr -s ' '
 5 out i32(37, 9) C: checksum {{[0-9a-f]+}}
$ loopwright run @/examples/tc/mv.tc --size M=4,K=3 --seed 1 --device emulate | sed -n 3p
  backend  gpu: 12 iterations in {{.*}}, compiled in {{.*}}, on emulate
$ loopwright run @/examples/tc/mv.tc --size M=4,K=3 --device emulate --threads 2
--- stderr
loopwright run: --threads has no effect with --device: it is for the processor
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run @/examples/tc/mv.tc --size M=4,K=3 --device emulate --time
--- stderr
loopwright run: --time has no effect with --device emulate: it counts, but takes no time
usage: loopwright run FILE [options]; --help explains them
--- exit 2
