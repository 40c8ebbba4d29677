package checkpoint

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Errors of this package, for errors.Is.
var (
	// ErrFormat is that of tensors that do not fit each other.
	ErrFormat = errors.New("malformed quantized weight")
	// ErrUnsupported is that of a variant that is not read.
	ErrUnsupported = errors.New("unsupported quantized weight")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnsupported}, args...)...)
}

// Method is how a weight was quantized, in the words of a model's config.json.
type Method string

// The methods.
const (
	GPTQ         Method = "gptq"
	AWQ          Method = "awq"
	BitsAndBytes Method = "bitsandbytes"
	FP8          Method = "fp8"
	// CompressedTensors is the name that checkpoints of that library have for FP8, and for integers
	// in groups of columns or of rows.
	CompressedTensors Method = "compressed-tensors"
	// MXFP4 is the method of gpt-oss, of which experts have other tensors than layers have: see
	// [MXFP4Blocks].
	MXFP4 Method = "mxfp4"
)

// Weight is a quantized matrix of (out, in) on a device, or the error of the operation that should
// have made it, which all that is computed from it reports. It is never changed, and safe for use
// by several goroutines.
type Weight struct {
	method Method
	scheme kernels.Scheme
	shape  tensor.Shape // of two dimensions
	layout kernels.Layout

	codes  *tensor.Tensor // words, of U32; or the error
	scales *tensor.Tensor // of F32, F16 or BF16
	bytes  *tensor.Tensor // zero points, or scales that are quantized; nil if there are none
	values *tensor.Tensor // of codes; nil if there are none

	// Of columns that are sorted by their groups: which one of the file is at each place, and where
	// each one of the file is; nil if they are not sorted.
	order, place *tensor.Tensor

	// What files have, to write it: of bitsandbytes, and the name and shape of scales of FP8.
	state      *quantState
	scaleName  string
	scaleShape tensor.Shape
}

func failed(op string, err error) *Weight { return &Weight{codes: tensor.Fail(op, err)} }

// newWeight checks what all weights have in common.
func newWeight(m Method, f kernels.Scheme, shape ...int) (*Weight, error) {
	n, k := shape[0], shape[1]
	const most = 1<<31 - 1
	switch {
	case n <= 0 || k <= 0 || n > most || k > most/n:
		return nil, unsupported("a weight of %d outputs and %d inputs: want 1 to %d elements",
			n, k, most)
	case k%kernels.RunLen != 0:
		return nil, unsupported("%d inputs are no multiple of %d", k, kernels.RunLen)
	}
	return &Weight{method: m, scheme: f, shape: tensor.Shape{n, k},
		layout: kernels.Layout{Line: k / kernels.RunLen}}, nil
}

// setBlocks divides the weight into blocks of rows and columns with one scale each.
func (w *Weight) setBlocks(rows, cols int) error {
	n, k := w.shape[0], w.shape[1]
	if rows <= 0 || cols <= 0 || cols < k && cols%kernels.RunLen != 0 {
		return unsupported("scales of %d times %d elements: columns are multiples of %d",
			rows, cols, kernels.RunLen)
	}
	rows, cols = min(rows, n), min(cols, k)
	w.layout.Across = ceil(k, cols)
	w.layout.Rows, w.layout.Runs = ops.Divisor(rows), ops.Divisor(cols/kernels.RunLen)
	return nil
}

func ceil(a, b int) int { return (a-1)/b + 1 }

// Err returns the error that the weight holds, nil if none.
func (w *Weight) Err() error {
	if w == nil || w.codes == nil {
		return fmt.Errorf("checkpoint: %w: a Weight that no function made", tensor.ErrArgument)
	}
	for t := range w.tensors() {
		if err := t.Err(); err != nil {
			return err
		}
	}
	return nil
}

// tensors goes through the tensors that the weight has.
func (w *Weight) tensors() func(yield func(*tensor.Tensor) bool) {
	all := []*tensor.Tensor{w.codes, w.scales, w.bytes, w.values, w.order, w.place}
	return slices.Values(slices.DeleteFunc(all, func(t *tensor.Tensor) bool { return t == nil }))
}

// Method is how the weight was quantized, "" if it holds an error.
func (w *Weight) Method() Method {
	if w.Err() != nil {
		return ""
	}
	return w.method
}

// Shape is the outputs and the inputs of the layer, nil if the weight holds an error.
func (w *Weight) Shape() tensor.Shape {
	if w.Err() != nil {
		return nil
	}
	return slices.Clone(w.shape)
}

// Device is where the weight is, nil if it holds an error.
func (w *Weight) Device() *tensor.Device {
	if w.Err() != nil {
		return nil
	}
	return w.codes.Device()
}

// Size is how many bytes the weight takes on its device, 0 if it holds an error.
func (w *Weight) Size() (n int) {
	if w.Err() != nil {
		return 0
	}
	for t := range w.tensors() {
		n += t.Count() * t.DType().Size()
	}
	return n
}

// To brings the weight to a device; one that is there is returned as it is.
func (w *Weight) To(d *tensor.Device) *Weight {
	if err := w.Err(); err != nil {
		return failed("to", err)
	}
	if w.Device() == d {
		return w
	}
	to := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil {
			return nil
		}
		return t.To(d)
	}
	out := *w
	out.codes, out.scales, out.bytes = to(w.codes), to(w.scales), to(w.bytes)
	out.values, out.order, out.place = to(w.values), to(w.order), to(w.place)
	return &out
}

// ToDevice is [Weight.To] for package nn, whose parameters hold quantized numbers of several types.
func (w *Weight) ToDevice(d *tensor.Device) any { return w.To(d) }

// Free gives the memory back when the work so far is done.
func (w *Weight) Free() error {
	if err := w.Err(); err != nil {
		return err
	}
	var errs []error
	for t := range w.tensors() {
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// launch runs a kernel whose parameters are the result, some in front of the weight, the weight,
// some behind it, and the scheme.
func (w *Weight) launch(out *tensor.Tensor, f *family, g runtime.Grid, front []any,
	behind ...any) *tensor.Tensor {
	var bytes, values any = runtime.Slice[uint8]{}, runtime.Slice[float32]{}
	if w.bytes != nil {
		bytes = w.bytes
	}
	if w.values != nil {
		values = w.values
	}
	args := append(slices.Clone(front), w.scales, w.codes, bytes, values, w.layout)
	k := f.of(w.scheme, w.scales.DType(), out.DType())
	return tensor.LaunchInto(out, k, g, append(append(args, behind...), w.scheme)...)
}
