// Package nn has neural networks: layers, their parameters, and what loads, saves and initialises
// them.
//
// A network is a struct of layers, and its forward pass an ordinary method:
//
//	type Net struct {
//		Hidden, Out *nn.Linear
//	}
//
//	func NewNet() *Net { return &Net{Hidden: nn.NewLinear(784, 128), Out: nn.NewLinear(128, 10)} }
//
//	func (n *Net) Forward(x *tensor.Tensor) *tensor.Tensor {
//		return n.Out.Forward(n.Hidden.Forward(x).Relu())
//	}
//
// # Parameters
//
// A layer is made without a device: a [Param] has a shape and an initialiser, and no memory. [Init]
// gives all parameters of a network memory on a device and first values, [Load] gives them the
// values of a file, straight to the device:
//
//	net := NewNet()
//	err := nn.Init(net, nn.On{Device: dev, DType: tensor.F32})
//
//	set, err := safetensors.Open("net.safetensors")
//	report, err := nn.Load(net, nn.File(set), nn.LoadOptions{On: nn.On{Device: dev}})
//
// [Save] writes them. A layer whose parameters have no values yet returns an error that says so.
//
// # Names
//
// [List] finds the parameters of a struct by its exported fields, once, before the network is used:
// pointers, structs, slices, maps with string keys and interfaces are followed. The name of a
// parameter is the path of fields with dots between them, each in lower case with underscores, or
// as a tag says:
//
//	type Block struct {
//		Attn *Attention                  // attn.
//		Norm *nn.LayerNorm `nn:"ln_1"`   // ln_1.
//		Base `nn:",inline"`              // no name of its own
//		Memo *Block        `nn:"-"`      // not followed
//	}
//
// Parameters may have numbers in blocks of few bits, with which linear layers, embeddings and
// mixtures of experts multiply as they are: see [Param.SetQuantized] and package quantized/qnn.
//
// A parameter that two fields share is one parameter, under the first name; see [Named.Aliases].
//
// # Training
//
// Parameters are variables of package tensor: [tensor.Tensor.Backward] computes their gradients, and
// package optim updates them. [SetTraining] switches layers such as [Dropout] between training and
// inference mode; a new layer is in inference mode.
//
//	params, err := nn.Trainable(net)
//	opt := optim.NewAdamW(params, optim.AdamW{LR: 1e-3})
package nn
