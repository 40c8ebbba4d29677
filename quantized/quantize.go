package quantized

import (
	"fmt"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	quantize    = newFamily(kernels.Quantize[prototype])
	weighted    = newFamily(kernels.QuantizeWeighted[prototype])
	meanSquares = jit.Of(kernels.MeanSquares)
)

// Quantize returns the numbers of x, of a floating-point type, in a block format, as
// [QuantizeImportant] without importance does.
func Quantize(x *tensor.Tensor, of format.Type) *Tensor { return QuantizeImportant(x, of, nil) }

// QuantizeImportant returns the numbers of x, of a floating-point type, in a block format, on the
// device of x: what the reference implementation's quantizer of files makes of x in float32, byte
// for byte. Formats with code books, see [format.HostQuantizer], are made on the host. Importance
// has a number of F32 for each element of the last dimension, which weights the errors that are
// made small; formats that ignore it give the same with it.
//
// The last dimension is whole blocks, otherwise it is an error of kind [format.ErrSize]. A format
// that has no quantizer, or none without importance, is one of kind [format.ErrType]. NaN,
// infinities and magnitudes for which the format has no scale give blocks without meaning, and
// blocks of IQ3_S in which 32 zeros are in front of other elements do not come back, see
// [format.Quantize].
func QuantizeImportant(x *tensor.Tensor, of format.Type, importance *tensor.Tensor) *Tensor {
	const op = "quantize"
	if err := x.Err(); err != nil {
		return failed(op, err)
	}
	size, err := sizeOf(of, x.Shape())
	if err == nil && !x.DType().IsFloat() {
		err = fmt.Errorf("%w: %v to %v: it is for floating-point types", tensor.ErrDType, x.DType(), of)
	}
	if err == nil {
		err = checkImportance(x, of, importance)
	}
	if err != nil {
		return failed(op, err)
	}
	if !of.Quantizes(importance != nil) {
		return failed(op, fmt.Errorf("%w: no quantizer of %v (importance: %v)",
			format.ErrType, of, importance != nil))
	}
	out := tensor.Empty(x.Device(), tensor.U8, size)
	if size > 0 {
		out = blocksFrom(x.Detach().Cast(tensor.F32).Contiguous(), size, of, importance)
	}
	if out.Err() != nil {
		return failed(op, out.Err())
	}
	return &Tensor{of, x.Shape(), out, 0}
}

func checkImportance(x *tensor.Tensor, of format.Type, w *tensor.Tensor) error {
	if w == nil {
		return nil
	}
	if err := w.Err(); err != nil {
		return err
	}
	cols := x.Size(-1)
	switch {
	case w.Rank() != 1 || w.Count() != cols:
		return fmt.Errorf("%w: importance of %v for %v: it is one number for each of %d columns",
			tensor.ErrShape, w.Shape(), x.Shape(), cols)
	case w.DType() != tensor.F32:
		return fmt.Errorf("%w: importance of %v, not %v", tensor.ErrDType, w.DType(), tensor.F32)
	case w.Device() != x.Device():
		return fmt.Errorf("%w: importance on %v, elements on %v: To brings a tensor to another device",
			tensor.ErrDevice, w.Device(), x.Device())
	}
	return nil
}

// blocksFrom returns x, contiguous and of F32, as blocks of so many bytes.
func blocksFrom(x *tensor.Tensor, size int, of format.Type,
	importance *tensor.Tensor) *tensor.Tensor {
	f, err := of.Block()
	if err != nil {
		return tensor.Fail("quantize", err)
	}
	kind := of.QuantizerKind(importance != nil)
	if kind == format.OnHost {
		return onHost(x, size, of, importance)
	}
	out := tensor.Empty(x.Device(), tensor.U8, size)
	g := gridOf(x.Device(), x.Count()/f.Elems())
	if kind == format.WeightedQuantizer {
		return fillImportant(out, x, importance.Detach().Contiguous(), of, f, g)
	}
	k, err := quantize.of(instance{of: of, out: tensor.F32})
	if err != nil {
		return tensor.Fail("quantize", err)
	}
	return tensor.LaunchInto(out, k, g, x, f)
}

// onHost is blocksFrom on the host.
func onHost(x *tensor.Tensor, size int, of format.Type, importance *tensor.Tensor) *tensor.Tensor {
	list, err := tensor.ToSlice[float32](x)
	var w []float32
	if err == nil && importance != nil {
		w, err = tensor.ToSlice[float32](importance.Detach())
	}
	out := make([]byte, size)
	if err == nil {
		err = format.Quantize(out, list, x.Size(-1), of, w)
	}
	if err != nil {
		return tensor.Fail("quantize", err)
	}
	return tensor.FromOwned(x.Device(), out)
}

func fillImportant(out, x, importance *tensor.Tensor, of format.Type, f format.Block,
	g runtime.Grid) *tensor.Tensor {
	cols := x.Size(-1)
	rows := x.Count() / cols
	squares := tensor.Empty(x.Device(), tensor.F32, rows)
	squares = tensor.LaunchInto(squares, meanSquares, gridOf(x.Device(), rows), x, cols)
	if squares.Err() != nil {
		return squares
	}
	k, err := weighted.of(instance{of: of, out: tensor.F32})
	if err != nil {
		return tensor.Fail("quantize", err)
	}
	return tensor.LaunchInto(out, k, g, x, importance, squares, f)
}
