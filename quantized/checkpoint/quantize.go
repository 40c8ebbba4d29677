package checkpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

var (
	quantizeCodebook = jit.Of(kernels.QuantizeCodebook)
	quantizeE4M3     = jit.Of(kernels.QuantizeE4M3)
)

// nf4 are the values of the codes of NF4: quantiles of the normal distribution, of which each code
// has the same share (Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs", 2023,
// appendix E).
var nf4 = []float32{
	-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
	-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
	0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
	0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
}

// nestedBlock is how many scales of a weight have one scale when they are quantized.
const nestedBlock = 256

// QuantizeNF4 returns a matrix of floating-point numbers as NF4 of bitsandbytes, with the nearest
// code for each element: byte for byte what that library makes of it in float32. Block is how many
// elements have one scale, a power of two from 32 to 4096; 64 is usual. With nested the scales are
// quantized too, by the library's rule ("double quantization"), which saves 0.37 bits of an
// element. Columns are a multiple of 8. NaN and infinities give blocks without meaning.
func QuantizeNF4(x *tensor.Tensor, block int, nested bool) *Weight {
	const op = "quantize to NF4"
	w, err := quantizing(x, BitsAndBytes, kernels.Codebook{})
	if err == nil && (block < 32 || block > 4096 || bits.OnesCount(uint(block)) != 1) {
		err = fmt.Errorf("%w: blocks of %d elements: a power of two from 32 to 4096",
			tensor.ErrArgument, block)
	}
	if err != nil {
		return failed(op, err)
	}
	name := map[tensor.DType]string{tensor.F16: "float16", tensor.BF16: "bfloat16"}[x.DType()]
	if name == "" {
		name = "float32"
	}
	w.setState(&quantState{Type: "nf4", Block: block, DType: name, Shape: w.shape})
	d, n := x.Device(), w.shape.Count()
	bounds := tensor.From(d, midpoints(nf4))
	w.values = tensor.From(d, nf4)
	w.scales = tensor.Empty(d, tensor.F32, ceil(n, block))
	w.codes = tensor.LaunchInto(tensor.Empty(d, tensor.U32, n/kernels.RunLen), quantizeCodebook,
		gridOf(d, w.scales.Count()), w.scales, numbers(x), bounds, block)
	if nested && w.Err() == nil {
		err = w.nest(d)
	}
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		return failed(op, err)
	}
	return w
}

// quantizing checks what is to be quantized.
func quantizing(x *tensor.Tensor, m Method, f kernels.Scheme) (*Weight, error) {
	switch {
	case x.Err() != nil:
		return nil, x.Err()
	case x.Rank() != 2:
		return nil, fmt.Errorf("%w: a weight of %v: it has two dimensions", tensor.ErrRank, x.Shape())
	case !x.DType().IsFloat():
		return nil, fmt.Errorf("%w: %v: it is for floating-point types", tensor.ErrDType, x.DType())
	}
	return newWeight(m, f, x.Shape()...)
}

// numbers are the elements of x as kernels take them.
func numbers(x *tensor.Tensor) *tensor.Tensor { return x.Detach().Cast(tensor.F32).Contiguous() }

// midpoints are the means of neighbours.
func midpoints(v []float32) []float32 {
	out := make([]float32, len(v)-1)
	for i := range out {
		out[i] = (v[i] + v[i+1]) / 2
	}
	return out
}

// nest quantizes the scales: less their mean, in blocks, to the nearest value of dynamicMap.
func (w *Weight) nest(d *tensor.Device) error {
	absmax, err := tensor.ToSlice[float32](w.scales)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, a := range absmax {
		sum += float64(a)
	}
	mean := float32(sum / float64(len(absmax)))
	values := dynamicMap()
	bounds := midpoints(values)
	codes, outer := make([]uint8, len(absmax)), make([]float32, 0, ceil(len(absmax), nestedBlock))
	for at := 0; at < len(absmax); at += nestedBlock {
		part := absmax[at:min(at+nestedBlock, len(absmax))]
		most := float32(0)
		for _, a := range part {
			most = max(most, float32(math.Abs(float64(a-mean))))
		}
		for i, a := range part {
			code, _ := slices.BinarySearch(bounds, (a-mean)/max(most, 1e-38))
			codes[at+i] = uint8(code)
		}
		outer = append(outer, most)
	}
	offset := float64(mean)
	state := *w.state
	state.NestedBlock, state.NestedDType, state.NestedOffset = nestedBlock, "float32", &offset
	w.setState(&state)
	w.bytes, w.scales = tensor.From(d, codes), tensor.From(d, outer)
	w.values = tensor.From(d, append(append(slices.Clone(nf4), values...), mean))
	return nil
}

// dynamicMap are the values of the 8-bit codes of scales, in their order: the dynamic tree type of
// Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", 2015. The decimal exponent is
// counted by leading zeros, and the bits that remain divide the decade from 0.1 to 1 evenly.
func dynamicMap() []float32 {
	values := []float32{0, 1}
	for i := range 7 {
		steps := 1 << i
		power := float32(math.Pow10(i - 6))
		step := (float32(1) - float32(0.1)) / float32(steps)
		edge := func(j int) float32 { // from the nearer end, each rounded once
			if j < (steps+1)/2 {
				return float32(math.FMA(float64(step), float64(j), float64(float32(0.1))))
			}
			return float32(math.FMA(float64(-step), float64(steps-j), 1))
		}
		for j := range steps {
			v := float32(power * float32((edge(j)+edge(j+1))/2))
			values = append(values, v, -v)
		}
	}
	slices.Sort(values)
	return values
}

// QuantizeFP8 returns a matrix of floating-point numbers as E4M3 with a scale of F32 for each block
// of so many rows and columns, as DeepSeek-V3 has its weights in blocks of 128 times 128: the scale
// is the largest magnitude divided by 448, and elements are divided by it and rounded to nearest,
// ties to even. Columns, of x and of blocks, are a multiple of 8. NaN and infinities give blocks
// without meaning.
func QuantizeFP8(x *tensor.Tensor, rows, columns int) *Weight {
	const op = "quantize to FP8"
	w, err := quantizing(x, FP8, kernels.E4M3{})
	if err == nil {
		err = w.setBlocks(rows, columns)
	}
	if err != nil {
		return failed(op, err)
	}
	n, k := w.shape[0], w.shape[1]
	rows, columns = min(rows, n), min(columns, k)
	w.scaleName, w.scaleShape = "weight_scale_inv", tensor.Shape{ceil(n, rows), w.layout.Across}
	d := x.Device()
	w.scales = tensor.Empty(d, tensor.F32, w.scaleShape.Count())
	info := ops.DeviceInfo(d.Runtime())
	g := runtime.Blocks(min(w.scales.Count(), ops.RowBlocks(&info, threads)), threads)
	w.codes = tensor.LaunchInto(tensor.Empty(d, tensor.U32, n*k/4), quantizeE4M3, g,
		w.scales, numbers(x), k, w.layout.Across, rows, columns)
	if err := w.Err(); err != nil {
		return failed(op, err)
	}
	return w
}

// Entries returns the tensors of the weight to write them into a safetensors file, with names that
// begin with prefix and a dot, or without a prefix if it is "": what [Load] reads. It is for
// weights of bitsandbytes and FP8; those of GPTQ and AWQ are kept in another order than that of
// files, and are an error of kind [ErrUnsupported].
func (w *Weight) Entries(prefix string) ([]*file.Entry, error) {
	if err := w.Err(); err != nil {
		return nil, err
	}
	if prefix != "" {
		prefix += "."
	}
	b := &entries{prefix: prefix}
	switch {
	case w.state != nil:
		w.stateEntries(b)
	case w.scaleName != "":
		b.add("weight", tensor.F8E4M3, w.shape, w.codes.Bytes)
		b.add(w.scaleName, w.scales.DType(), w.scaleShape, w.scales.Bytes)
	default:
		return nil, fmt.Errorf("checkpoint: %w: writing a weight of %s", ErrUnsupported, w.method)
	}
	return b.list, b.err
}

// entries are tensors of a file.
type entries struct {
	prefix string
	list   []*file.Entry
	err    error
}

func (b *entries) add(name string, dt dtype.DType, s tensor.Shape, read func() ([]byte, error)) {
	e, err := file.FromFunc(b.prefix+name, dt, s, read)
	if b.list = append(b.list, e); b.err == nil {
		b.err = err
	}
}

// stateEntries adds the tensors of bitsandbytes.
func (w *Weight) stateEntries(b *entries) {
	text, err := json.Marshal(w.state)
	if err != nil {
		b.err = err
		return
	}
	b.add("weight", tensor.U8, tensor.Shape{w.shape.Count() / 2, 1}, w.codes.Bytes)
	b.add(stateName+w.state.Type, tensor.U8, tensor.Shape{len(text)},
		func() ([]byte, error) { return text, nil })
	values := func(from, to int) func() ([]byte, error) {
		return w.values.Narrow(0, from, to-from).Bytes
	}
	b.add(mapName, tensor.F32, tensor.Shape{kernels.ScaleValues}, values(0, kernels.ScaleValues))
	if w.bytes == nil {
		b.add(absmaxName, w.scales.DType(), w.scales.Shape(), w.scales.Bytes)
		return
	}
	b.add(absmaxName, tensor.U8, w.bytes.Shape(), w.bytes.Bytes)
	b.add(nestedAbsmaxName, tensor.F32, w.scales.Shape(), w.scales.Bytes)
	b.add(nestedMapName, tensor.F32, tensor.Shape{kernels.ScaleMean - kernels.ScaleValues},
		values(kernels.ScaleValues, kernels.ScaleMean))
}
