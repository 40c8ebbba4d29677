package nn

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// ConvOptions are how the kernel of a convolution moves, and what is around the input. The zero
// value is PyTorch's default.
type ConvOptions struct {
	tensor.Convolution                // stride, padding, dilation, groups; lists of one number are for all dimensions
	Mode               tensor.PadMode // what the padding is: zeros, or what is at the edge; zeros only where it is transposed
	Same               bool           // as much padding as gives the size of the input; needs a stride of 1
	NoBias             bool
}

// Conv is a convolution over one to three dimensions behind those of inputs and channels: PyTorch's
// Conv1d, Conv2d and Conv3d.
type Conv struct {
	Weight  *Param      // (out, in/groups, kernel …)
	Bias    *Param      // (out), or nil
	Options ConvOptions `nn:"-"`
}

// NewConv returns a convolution from in to out channels, of a kernel of one to three dimensions.
// Weight and bias begin uniformly within 1/√(in/groups · size of the kernel), as in PyTorch.
func NewConv(in, out int, kernel []int, o ConvOptions) *Conv {
	shape := append([]int{out, in / max(o.Groups, 1)}, kernel...)
	c := &Conv{Options: o}
	c.Weight, c.Bias = convParams(shape, out, o.NoBias)
	return c
}

// NewConv1d is [NewConv] of a kernel of one dimension.
func NewConv1d(in, out, kernel int, o ConvOptions) *Conv { return NewConv(in, out, []int{kernel}, o) }

// NewConv2d is [NewConv] of a square kernel.
func NewConv2d(in, out, kernel int, o ConvOptions) *Conv {
	return NewConv(in, out, []int{kernel, kernel}, o)
}

// NewConv3d is [NewConv] of a cubic kernel.
func NewConv3d(in, out, kernel int, o ConvOptions) *Conv {
	return NewConv(in, out, []int{kernel, kernel, kernel}, o)
}

// convParams are a weight and a bias that begin uniformly within 1/√fan, the fan being that of the
// weight.
func convParams(shape []int, out int, noBias bool) (weight, bias *Param) {
	weight = NewParam(Scaled(FanIn, 1/sqrt3, true), shape...)
	if noBias {
		return weight, nil
	}
	fan, err := FanIn.of(shape)
	if err != nil || fan == 0 {
		fan = 1
	}
	return weight, NewParam(within(fan), out)
}

// Forward returns (b, out, …) of (b, in, …): see [tensor.Tensor.Conv] for the sizes.
func (c *Conv) Forward(x *tensor.Tensor) *tensor.Tensor {
	const op = "conv"
	w := c.Weight.Tensor()
	conv, n, bad := convolution(op, x, w, &c.Options)
	if bad != nil {
		return bad
	}
	if c.Options.Same || c.Options.Mode != tensor.PadConstant {
		pads, err := c.pads(w.Shape()[2:], &conv)
		if err != nil {
			return tensor.Fail(op, err)
		}
		x = x.PadAll(pads, c.Options.Mode, 0)
		conv.Padding = slices.Repeat([]int{0}, n)
	}
	if c.Bias == nil {
		return x.Conv(w, conv)
	}
	return x.ConvBias(w, c.Bias.Tensor(), conv)
}

// pads are how many elements go around the input where the convolution itself doesn't pad.
func (c *Conv) pads(kernel []int, conv *tensor.Convolution) ([][2]int, error) {
	pads := make([][2]int, len(kernel))
	for i, k := range kernel {
		if !c.Options.Same {
			p := at(conv.Padding, i, 0)
			pads[i] = [2]int{p, p}
			continue
		}
		if at(conv.Stride, i, 1) != 1 {
			return nil, fmt.Errorf("%w: a result of the size of the input needs a stride of 1", tensor.ErrArgument)
		}
		all := at(conv.Dilation, i, 1) * (k - 1)
		pads[i] = [2]int{all / 2, all - all/2}
	}
	return pads, nil
}

// at is number i of a list, or what an empty one stands for.
func at(list []int, i, usual int) int {
	if i < len(list) {
		return list[i]
	}
	return usual
}

// convolution is the options with lists of n numbers each, the dimensions that the weight's kernel
// has.
func convolution(op string, x, w *tensor.Tensor, o *ConvOptions) (c tensor.Convolution, n int, bad *tensor.Tensor) {
	for _, t := range []*tensor.Tensor{x, w} {
		if t.Err() != nil {
			return c, 0, t
		}
	}
	if n = w.Rank() - 2; n < 1 || x.Rank() != n+2 {
		return c, 0, tensor.Fail(op, fmt.Errorf("%w: an input of %v for a weight of %v", tensor.ErrRank, x.Shape(), w.Shape()))
	}
	c = o.Convolution
	for _, list := range []*[]int{&c.Stride, &c.Padding, &c.Dilation, &c.OutputPadding} {
		if len(*list) == 1 {
			*list = slices.Repeat(*list, n)
		}
	}
	return c, n, nil
}

// ConvTranspose is a transposed convolution, which a gradient goes back through a [Conv] by:
// PyTorch's ConvTranspose1d, 2d and 3d.
type ConvTranspose struct {
	Weight  *Param      // (in, out/groups, kernel …)
	Bias    *Param      // (out), or nil
	Options ConvOptions `nn:"-"`
}

// NewConvTranspose returns a transposed convolution from in to out channels, of a kernel of one to
// three dimensions. Weight and bias begin uniformly within 1/√(out/groups · size of the kernel), as
// in PyTorch.
func NewConvTranspose(in, out int, kernel []int, o ConvOptions) *ConvTranspose {
	shape := append([]int{in, out / max(o.Groups, 1)}, kernel...)
	c := &ConvTranspose{Options: o}
	c.Weight, c.Bias = convParams(shape, out, o.NoBias)
	return c
}

// NewConvTranspose1d is [NewConvTranspose] of a kernel of one dimension.
func NewConvTranspose1d(in, out, kernel int, o ConvOptions) *ConvTranspose {
	return NewConvTranspose(in, out, []int{kernel}, o)
}

// NewConvTranspose2d is [NewConvTranspose] of a square kernel.
func NewConvTranspose2d(in, out, kernel int, o ConvOptions) *ConvTranspose {
	return NewConvTranspose(in, out, []int{kernel, kernel}, o)
}

// NewConvTranspose3d is [NewConvTranspose] of a cubic kernel.
func NewConvTranspose3d(in, out, kernel int, o ConvOptions) *ConvTranspose {
	return NewConvTranspose(in, out, []int{kernel, kernel, kernel}, o)
}

// Forward returns (b, out, …) of (b, in, …): see [tensor.Tensor.ConvTranspose] for the sizes.
func (c *ConvTranspose) Forward(x *tensor.Tensor) *tensor.Tensor {
	const op = "conv_transpose"
	if c.Options.Mode != tensor.PadConstant || c.Options.Same {
		return tensor.Fail(op, fmt.Errorf("%w: a transposed convolution has no padding mode", tensor.ErrArgument))
	}
	w := c.Weight.Tensor()
	conv, _, bad := convolution(op, x, w, &c.Options)
	if bad != nil {
		return bad
	}
	if c.Bias == nil {
		return x.ConvTranspose(w, conv)
	}
	return x.ConvTransposeBias(w, c.Bias.Tensor(), conv)
}
