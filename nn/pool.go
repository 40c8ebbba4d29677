package nn

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// MaxPool is the largest elements of windows over the last one to three dimensions: PyTorch's
// MaxPool1d, 2d and 3d. See [tensor.Pooling] for the fields.
type MaxPool struct{ tensor.Pooling }

// NewMaxPool1d returns a layer of windows of a size, next to each other.
func NewMaxPool1d(kernel int) *MaxPool { return &MaxPool{pooling(kernel, 1)} }

// NewMaxPool2d is [NewMaxPool1d] over two dimensions.
func NewMaxPool2d(kernel int) *MaxPool { return &MaxPool{pooling(kernel, 2)} }

// NewMaxPool3d is [NewMaxPool1d] over three dimensions.
func NewMaxPool3d(kernel int) *MaxPool { return &MaxPool{pooling(kernel, 3)} }

// Forward returns a tensor of x's dimensions, the last of which are smaller.
func (p *MaxPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return pooled(x, p.Pooling, (*tensor.Tensor).MaxPool)
}

// AvgPool is the means of windows over the last one to three dimensions: PyTorch's AvgPool1d, 2d
// and 3d, whose count_include_pad is that Inside is false. See [tensor.Pooling] for the fields.
type AvgPool struct{ tensor.Pooling }

// NewAvgPool1d returns a layer of windows of a size, next to each other.
func NewAvgPool1d(kernel int) *AvgPool { return &AvgPool{pooling(kernel, 1)} }

// NewAvgPool2d is [NewAvgPool1d] over two dimensions.
func NewAvgPool2d(kernel int) *AvgPool { return &AvgPool{pooling(kernel, 2)} }

// NewAvgPool3d is [NewAvgPool1d] over three dimensions.
func NewAvgPool3d(kernel int) *AvgPool { return &AvgPool{pooling(kernel, 3)} }

// Forward returns a tensor of x's dimensions, the last of which are smaller.
func (p *AvgPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return pooled(x, p.Pooling, (*tensor.Tensor).AvgPool)
}

func pooling(kernel, n int) tensor.Pooling {
	return tensor.Pooling{Kernel: slices.Repeat([]int{kernel}, n)}
}

// pooled is x pooled by a function for one or two dimensions. The largest elements and the means of
// windows over three dimensions are those over one of those over two.
func pooled(x *tensor.Tensor, p tensor.Pooling, pool func(*tensor.Tensor, tensor.Pooling) *tensor.Tensor) *tensor.Tensor {
	n := len(p.Kernel)
	for _, list := range []*[]int{&p.Stride, &p.Padding, &p.Dilation} {
		if len(*list) == 1 {
			*list = slices.Repeat(*list, n)
		}
	}
	if n != 3 {
		return pool(x, p)
	}
	if x.Err() == nil && x.Rank() < 3 {
		return tensor.Fail("pool", fmt.Errorf("%w: windows of 3 dimensions for %v", tensor.ErrRank, x.Shape()))
	}
	plane, depth := p, p
	plane.Kernel, plane.Stride, plane.Padding, plane.Dilation = cut(p.Kernel, 1, 3), cut(p.Stride, 1, 3), cut(p.Padding, 1, 3), cut(p.Dilation, 1, 3)
	depth.Kernel, depth.Stride, depth.Padding, depth.Dilation = cut(p.Kernel, 0, 1), cut(p.Stride, 0, 1), cut(p.Padding, 0, 1), cut(p.Dilation, 0, 1)
	return pool(pool(x, plane).Transpose(-3, -1), depth).Transpose(-3, -1)
}

// cut is a part of a list, or of what an empty one stands for.
func cut(list []int, from, to int) []int {
	if len(list) < to {
		return list
	}
	return list[from:to]
}

// AdaptiveAvgPool is the means of as many windows as Sizes says along each of the last one to three
// dimensions: PyTorch's AdaptiveAvgPool1d, 2d and 3d. [tensor.Inferred] is the size that is there.
type AdaptiveAvgPool struct{ Sizes []int }

// Forward returns a tensor of x's dimensions, the last of which have Sizes.
func (p *AdaptiveAvgPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return adaptive(x, p.Sizes, (*tensor.Tensor).AdaptiveAvgPool)
}

// AdaptiveMaxPool is the largest elements of the windows of [AdaptiveAvgPool].
type AdaptiveMaxPool struct{ Sizes []int }

// Forward returns a tensor of x's dimensions, the last of which have Sizes.
func (p *AdaptiveMaxPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return adaptive(x, p.Sizes, (*tensor.Tensor).AdaptiveMaxPool)
}

func adaptive(x *tensor.Tensor, sizes []int, pool func(*tensor.Tensor, ...int) *tensor.Tensor) *tensor.Tensor {
	if len(sizes) != 3 {
		return pool(x, sizes...)
	}
	if x.Err() == nil && x.Rank() < 3 {
		return tensor.Fail("adaptive pool", fmt.Errorf("%w: 3 sizes for %v", tensor.ErrRank, x.Shape()))
	}
	return pool(pool(x, sizes[1:]...).Transpose(-3, -1), sizes[0]).Transpose(-3, -1)
}

// Padding adds elements around the last dimensions: PyTorch's ZeroPad, ConstantPad, ReflectionPad,
// ReplicationPad and CircularPad of one to three dimensions.
type Padding struct {
	Pads  [][2]int       // how many in front of and behind each of the last dimensions, in their order; PyTorch's lists begin with the last one
	Mode  tensor.PadMode // a number, the edge, mirrored or circular
	Value float64        // the number of tensor.PadConstant
}

// NewPadding returns a layer that adds n elements on all sides of the last dims dimensions.
func NewPadding(dims, n int, mode tensor.PadMode) *Padding {
	return &Padding{Pads: slices.Repeat([][2]int{{n, n}}, dims), Mode: mode}
}

// Forward returns x with what is around it.
func (p *Padding) Forward(x *tensor.Tensor) *tensor.Tensor { return x.PadAll(p.Pads, p.Mode, p.Value) }

// Interpolation is how an [Upsample] finds values between elements.
type Interpolation int

// The interpolations. Linear is along one dimension, bilinear two and trilinear three by the number
// of sizes.
const (
	Nearest Interpolation = iota
	LinearInterpolation
	Bicubic // two dimensions only
)

// Upsample gives the last one to three dimensions other sizes: PyTorch's Upsample and interpolate.
type Upsample struct {
	Sizes        []int     // of the result, or nil
	Scale        []float64 // or so many times the sizes of x, rounded down
	Mode         Interpolation
	AlignCorners bool // the first and last elements stay where they are; not for Nearest
}

// Forward returns a tensor of x's dimensions, the last of which have other sizes.
func (u *Upsample) Forward(x *tensor.Tensor) *tensor.Tensor {
	const op = "upsample"
	if bad := failure(op, x); bad != nil {
		return bad
	}
	sizes := slices.Clone(u.Sizes)
	if sizes == nil {
		for i, f := range u.Scale {
			if d := x.Rank() - len(u.Scale) + i; d >= 0 {
				sizes = append(sizes, int(float64(x.Size(d))*f))
			}
		}
	}
	n := len(sizes)
	if n < 1 || n > 3 || n > x.Rank() {
		return tensor.Fail(op, fmt.Errorf("%w: sizes %v for %v, want 1 to 3", tensor.ErrArgument, sizes, x.Shape()))
	}
	switch {
	case u.Mode == Bicubic && n != 2:
		return tensor.Fail(op, fmt.Errorf("%w: bicubic interpolation is of two dimensions, there are sizes for %d", tensor.ErrArgument, n))
	case u.Mode == Bicubic && u.Sizes == nil:
		return x.UpsampleBicubicBy(u.Scale[0], u.Scale[1], u.AlignCorners)
	case u.Mode == Bicubic:
		return x.UpsampleBicubic(sizes[0], sizes[1], u.AlignCorners)
	case u.Mode == LinearInterpolation && n == 2:
		return u.linear(x, sizes, 0)
	case u.Mode == LinearInterpolation && n == 1:
		return u.linear(x.Unsqueeze(-2), append([]int{1}, sizes...), -1).Squeeze(-2)
	case u.Mode == LinearInterpolation:
		y := u.linear(x, sizes[1:], 1).Transpose(-3, -2) // (…, h, d, w)
		return u.along(y, sizes[0]).Transpose(-3, -2)
	case u.Sizes == nil:
		return nearestBy(x, sizes, u.Scale)
	case n < 3:
		return x.UpsampleNearest(sizes...)
	default:
		return x.UpsampleNearest(sizes[1:]...).Transpose(-3, -1).UpsampleNearest(sizes[0]).Transpose(-3, -1)
	}
}

// nearestBy takes elements by factors: index i of a dimension is index i/f before. That is not
// always i·(old size)/(new size), as the new size was rounded.
func nearestBy(x *tensor.Tensor, sizes []int, scale []float64) *tensor.Tensor {
	for i, n := range sizes {
		d := x.Rank() - len(sizes) + i
		from, by := make([]int64, max(n, 0)), float32(1/scale[i]) // PyTorch's steps are in float32
		for k := range from {
			from[k] = int64(min(int(float32(k)*by), x.Size(d)-1))
		}
		x = x.IndexSelect(tensor.From(x.Device(), from), d)
	}
	return x
}

// linear interpolates in the last two dimensions; scales are those from number i on, 1 for -1.
func (u *Upsample) linear(x *tensor.Tensor, sizes []int, i int) *tensor.Tensor {
	switch {
	case u.Sizes != nil:
		return x.UpsampleBilinear(sizes[0], sizes[1], u.AlignCorners)
	case i < 0:
		return x.UpsampleBilinearBy(1, u.Scale[0], u.AlignCorners)
	}
	return x.UpsampleBilinearBy(u.Scale[i], u.Scale[i+1], u.AlignCorners)
}

// along interpolates in the last dimension but one, of the first of three sizes.
func (u *Upsample) along(x *tensor.Tensor, size int) *tensor.Tensor {
	if u.Sizes != nil {
		return x.UpsampleBilinear(size, x.Size(-1), u.AlignCorners)
	}
	return x.UpsampleBilinearBy(u.Scale[0], 1, u.AlignCorners)
}

// PixelShuffle makes (…, c, h·r, w·r) of (…, c·r², h, w) (Shi et al., 2016).
type PixelShuffle struct{ Factor int }

// Forward moves channels into pixels.
func (p *PixelShuffle) Forward(x *tensor.Tensor) *tensor.Tensor { return fn.PixelShuffle(x, p.Factor) }

// PixelUnshuffle makes (…, c·r², h, w) of (…, c, h·r, w·r): the inverse of [PixelShuffle].
type PixelUnshuffle struct{ Factor int }

// Forward moves pixels into channels.
func (p *PixelUnshuffle) Forward(x *tensor.Tensor) *tensor.Tensor {
	return fn.PixelUnshuffle(x, p.Factor)
}
