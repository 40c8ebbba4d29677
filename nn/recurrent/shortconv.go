package recurrent

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/recurrent/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Activation is what comes behind a [ShortConv].
type Activation int

const (
	Linear Activation = iota // nothing
	SiLU                     // x·σ(x)
)

var shortConv = ops.NewGeneric("shortconv", kernels.ShortConv[ops.T, ops.C])

// chunk is how many tokens a thread of a convolution goes through.
const chunk = 64

// ShortConv is the convolution over few tokens in front of recurrent layers, of each channel by
// itself: behind token t it is the sum of weight[c][j]·x[t−width+1+j][c] and bias[c], of inputs
// before the first token of the batch too.
//
// x is (tokens, channels), of which rows may have any stride, weight is (channels, width) of a
// width of 2 to 32, and bias is (channels), or nil. state is (states, width−1, channels), the last
// inputs of each sequence. The result is (tokens, channels).
func ShortConv(x, weight, bias, state *tensor.Tensor, on *Sequences, act Activation) *tensor.Tensor {
	const op = "short convolution"
	if bad := on.checkPacked(op, x, weight, bias, state); bad != nil {
		return bad
	}
	channels := x.Size(1)
	with := []*tensor.Tensor{x, weight}
	if bias != nil {
		with = append(with, bias)
	}
	if bad := operand.Floats(op, with...); bad != nil {
		return bad
	}
	switch {
	case weight.Rank() != 2 || weight.Size(0) != channels ||
		weight.Size(1) < 2 || weight.Size(1) > chunk/2:
		return operand.Fail(op, tensor.ErrShape,
			"weight %v, want (%d, width) of a width from 2 to %d", weight.Shape(), channels, chunk/2)
	case bias != nil && !bias.Shape().Equal(tensor.Shape{channels}):
		return operand.Fail(op, tensor.ErrShape, "bias %v, want (%d)", bias.Shape(), channels)
	}
	width := weight.Size(1)
	if bad := on.checkState(op, state, x, width-1, channels); bad != nil {
		return bad
	}
	x, step := dense(x)
	weight = weight.Contiguous()
	w := kernels.Conv{
		Channels: channels, Step: step, Chunk: chunk, Width: dsl.ConstInt(width),
		Bias: bias != nil, SiLU: act == SiLU,
	}
	if bias == nil {
		bias = weight // one that is not read
	}
	k, err := shortConv.Of(ops.TypeArgs{T: x.DType()})
	if err != nil {
		return tensor.Fail(op, err)
	}
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	g := on.grid(x.Device(), channels, (on.most+chunk-1)/chunk)
	return tensor.LaunchInto(out, k, g, state, x, weight, bias.Contiguous(), on.table, w)
}

// grid has a thread for each channel of each sequence, in some parts.
func (s *Sequences) grid(d *tensor.Device, channels, parts int) runtime.Grid {
	threads := 128
	if info := ops.DeviceInfo(d.Runtime()); ops.TraitsOf(&info).WarpBlocks {
		threads = info.WarpSize
	}
	return runtime.Grid{
		Blocks:  runtime.Dim3{X: max((channels+threads-1)/threads, 1), Y: s.count, Z: parts},
		Threads: runtime.Dim3{X: threads, Y: 1, Z: 1},
	}
}
