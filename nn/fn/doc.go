// Package fn has the functions of networks that package tensor does not have: activations,
// normalisations, rearrangements, dropout, sampling and rotary embeddings. They are functions of
// tensors alone; layers with parameters are in package nn.
//
//	h := fn.Swiglu(x)                                 // silu(a)·b of the halves a and b
//	act, err := fn.ParseActivation("gelu_pytorch_tanh") // as a model's config.json has it
//	y := act.Apply(h)
//	cos, sin := fn.RopeTable(dev, tensor.F32, 128, 4096, 10000, fn.RopeScaling{})
//	q = fn.Rope(q, cos, sin)
//
// # Model
//
// Functions return tensors that hold an error where operands do not fit, as operations of package
// tensor do. Operands may have any strides and are floating-point numbers; those of fewer than 32
// bits are computed in float32. All have gradients. Those of activations, of gated units and of
// rotary embeddings are kernels, which have no gradients themselves: asking for one is an error of
// kind tensor.ErrNoGradient.
//
// What is random draws from the device's generator: see tensor.Device.SetSeed.
package fn
