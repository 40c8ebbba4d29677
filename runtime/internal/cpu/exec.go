package cpu

// executor runs kernels on the CPU.
var executor Loader
