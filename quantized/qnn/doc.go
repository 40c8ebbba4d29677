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
// [Checkpoint] is the source of quantized checkpoints in safetensors files. Either way [nn.Adapt]
// adds adapters that can be trained while the weights stay as they are (QLoRA), and [nn.Quantize]
// quantizes weights that a network has already.
package qnn
