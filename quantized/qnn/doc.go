// Package qnn gives networks of package nn weights in blocks of few bits.
//
// Layers need not be others for it: a [nn.Param] has blocks in place of plain numbers, and linear
// layers, embeddings and mixtures of experts multiply with them as they are. [File] is the source
// that leaves tensors of GGUF files in their blocks:
//
//	f, err := gguf.Open("model-Q4_K_M.gguf")
//	defer f.Close()
//	_, err = nn.Load(net, qnn.File(f.Set), nn.LoadOptions{
//		On:     nn.On{Device: dev, DType: tensor.F16}, // of what is no blocks
//		Rename: names,                                 // such as blk.0.attn_q.weight
//	})
//	y := net.Forward(x)
//
// Norms and biases, which files have as plain numbers, become plain numbers of that type. With
// Dequantize of the options so do others.
//
// [Quantize] makes blocks of the weights that a network has. Either way [nn.Adapt] adds adapters
// that can be trained, while the blocks stay as they are (QLoRA):
//
//	n, err := qnn.Quantize(net, func(name string, shape tensor.Shape) (format.Type, bool) {
//		return format.Q4_K, strings.HasSuffix(name, "proj.weight")
//	})
//	n, err = nn.Adapt(net, nn.LoRAOptions{Rank: 8}, nil)
package qnn
