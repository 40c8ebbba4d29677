package fn

import (
	"slices"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// PixelShuffle makes (…, C·r², H, W) to (…, C, H·r, W·r) (Shi et al., "Real-time single image and
// video super-resolution", 2016).
func PixelShuffle(x *tensor.Tensor, r int) *tensor.Tensor {
	const op = "pixel_shuffle"
	if b := image(op, x, r); b != nil {
		return b
	}
	s := x.Shape()
	n := len(s)
	c, h, w := s[n-3], s[n-2], s[n-1]
	if c%(r*r) != 0 {
		return operand.Fail(op, tensor.ErrShape, "%d channels of %v are no multiple of %d²", c, s, r)
	}
	batch := s[:n-3].Count()
	y := x.Reshape(batch, c/(r*r), r, r, h, w).Permute(0, 1, 4, 2, 5, 3)
	return y.Reshape(append(slices.Clone(s[:n-3]), c/(r*r), h*r, w*r)...)
}

// PixelUnshuffle makes (…, C, H·r, W·r) to (…, C·r², H, W): the inverse of [PixelShuffle].
func PixelUnshuffle(x *tensor.Tensor, r int) *tensor.Tensor {
	const op = "pixel_unshuffle"
	if b := image(op, x, r); b != nil {
		return b
	}
	s := x.Shape()
	n := len(s)
	c, h, w := s[n-3], s[n-2], s[n-1]
	if h%r != 0 || w%r != 0 {
		return operand.Fail(op, tensor.ErrShape, "height or width of %v is no multiple of %d", s, r)
	}
	batch := s[:n-3].Count()
	y := x.Reshape(batch, c, h/r, r, w/r, r).Permute(0, 1, 3, 5, 2, 4)
	return y.Reshape(append(slices.Clone(s[:n-3]), c*r*r, h/r, w/r)...)
}

// image checks an operand of images. Any element type may be shuffled.
func image(op string, x *tensor.Tensor, r int) *tensor.Tensor {
	switch {
	case x == nil || x.Err() != nil:
		return operand.Floats(op, x)
	case x.Rank() < 3:
		return operand.Fail(op, tensor.ErrRank, "%v, want (…, C, H, W)", x.Shape())
	case r < 1:
		return operand.Fail(op, tensor.ErrArgument, "a factor of %d, want 1 or more", r)
	}
	return nil
}

// ChannelShuffle makes the channels (g, n) of (N, g·n, …) those of (n, g) (Zhang et al.,
// "ShuffleNet", 2018).
func ChannelShuffle(x *tensor.Tensor, groups int) *tensor.Tensor {
	const op = "channel_shuffle"
	switch {
	case x == nil || x.Err() != nil:
		return operand.Floats(op, x)
	case x.Rank() < 2:
		return operand.Fail(op, tensor.ErrRank, "%v, want (N, C, …)", x.Shape())
	case groups < 1 || x.Size(1)%groups != 0:
		return operand.Fail(op, tensor.ErrShape, "%d groups of the channels of %v", groups, x.Shape())
	}
	s := x.Shape()
	y := x.Reshape(append([]int{s[0], groups, s[1] / groups}, s[2:]...)...)
	return y.Transpose(1, 2).Reshape(s...)
}
