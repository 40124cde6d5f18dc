# Attention by hand as one kernel, whose scores stay in shared memory.
$ loopwright show @/examples/schedules/attention_gpu.tc --size B=8,N=1024,M=1024,D=64 --schedule @/examples/schedules/attention_gpu.lws --stage ptx --target sm_90 | grep -c entry
1
$ loopwright run @/examples/schedules/attention_gpu.tc --size B=1,N=48,M=96,D=64 --schedule @/examples/schedules/attention_gpu.lws --device emulate --check | grep -c 'check    right'
1
