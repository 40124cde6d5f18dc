# Devices: the emulator is everywhere, a GPU is not.
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
