package torch_test

import (
	"archive/zip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/torch"
)

// values returns the elements as numbers.
func values(t *testing.T, e *file.Entry) []float64 {
	t.Helper()
	b, err := e.Bytes()
	require.NoError(t, err)
	out := []float64{}
	for n := e.DType.Size(); len(b) > 0; b = b[n:] {
		var word [8]byte
		copy(word[:], b[:n])
		out = append(out, dtype.FromBits(e.DType, binary.LittleEndian.Uint64(word[:])).Float())
	}
	return out
}

func get(t *testing.T, set *file.Set, name string) *file.Entry {
	t.Helper()
	e, err := set.Get(name)
	require.NoError(t, err)
	return e
}

const four = "\x00\x01\x02\x03"

func TestStorages(t *testing.T) {
	for _, c := range []struct {
		class, stored string
		d             dtype.DType
		bytes         string
		want          float64
	}{
		{"DoubleStorage", "torch.float64", dtype.F64, "\x00\x00\x00\x00\x00\x00\x00\xc0", -2},
		{"FloatStorage", "torch.float32", dtype.F32, "\x00\x00\x00\xc0", -2},
		{"HalfStorage", "torch.float16", dtype.F16, "\x00\xc0", -2},
		{"BFloat16Storage", "torch.bfloat16", dtype.BF16, "\x00\xc0", -2},
		{"ByteStorage", "torch.uint8", dtype.U8, "\xfe", 254},
		{"CharStorage", "torch.int8", dtype.I8, "\xfe", -2},
		{"BoolStorage", "torch.bool", dtype.U8, "\x01", 1},
		{"ShortStorage", "torch.int16", dtype.I16, "\xfe\xff", -2},
		{"IntStorage", "torch.int32", dtype.I32, "\xfe\xff\xff\xff", -2},
		{"LongStorage", "torch.int64", dtype.I64, "\xfe\xff\xff\xff\xff\xff\xff\xff", -2},
		{"UInt16Storage", "torch.uint16", dtype.U32, "\xfe\xff", 65534},
		{"UInt32Storage", "torch.uint32", dtype.U32, "\xfe\xff\xff\xff", 1<<32 - 2},
		{"UInt64Storage", "torch.uint64", dtype.I64, "\x02\x01\x00\x00\x00\x00\x00\x00", 258},
		{"Float8_e4m3fnStorage", "torch.float8_e4m3fn", dtype.F8E4M3, "\xc0", -2},
		{"Float8_e5m2Storage", "torch.float8_e5m2", dtype.F8E5M2, "\xc0", -2},
	} {
		t.Run(c.class, func(t *testing.T) {
			reversed := []byte(c.bytes)
			for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
				reversed[i], reversed[j] = reversed[j], reversed[i]
			}
			value := tensor(storage(c.class, "0", 1), 0, ints(), ints())
			name := strings.TrimPrefix(c.stored, "torch.")
			for _, b := range [][]byte{
				pack(t, value, "m/data/0", c.bytes),
				pack(t, value, "m/data/0", c.bytes, "m/byteorder", "little"),
				pack(t, value, "m/data/0", string(reversed), "m/byteorder", "big"),
				packAs(t, zip.Deflate, "m/data.pkl", program(value), "m/data/0", c.bytes),
				pack(t, typed("0", len(c.bytes), 0, ints(), ints(), name), "m/data/0", c.bytes),
				legacy(tensor(oldStorage(c.class, "0", 1, none), 0, ints(), ints()), "0", 1, c.bytes),
			} {
				set, err := read(b)
				require.NoError(t, err)
				e := get(t, set, "")
				require.Equal(t, c.stored, e.Stored)
				require.Equal(t, c.d, e.DType)
				require.Equal(t, layout.Shape{}, e.Shape())
				require.Equal(t, []float64{c.want}, values(t, e))
			}
		})
	}
	for _, class := range []string{"ComplexFloatStorage", "ComplexDoubleStorage", "QInt8Storage", "QUInt4x2Storage"} {
		set, err := read(pack(t, tensor(storage(class, "0", 1), 0, ints(1), ints(1)), "m/data/0", strings.Repeat("\x00", 16)))
		require.NoError(t, err)
		_, err = get(t, set, "").Bytes()
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, "no element type can hold torch.")
	}
}

func TestDTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		d    dtype.DType
		want []float64
	}{
		{"float8_e4m3fn", dtype.F8E4M3, []float64{1, -2, 0.5, 2}},
		{"float8_e5m2", dtype.F8E5M2, []float64{0.5, -2, 0.125, 2}},
		{"bool", dtype.U8, []float64{1, 1, 1, 1}},
		{"uint16", dtype.U32, []float64{0xc038, 0x4030}},
		{"int8", dtype.I8, []float64{0x38, -64, 0x30, 0x40}},
	} {
		n := len(c.want)
		set, err := read(pack(t, typed("0", 4, 0, ints(n), ints(1), c.name), "m/data/0", "\x38\xc0\x30\x40"))
		require.NoError(t, err)
		e := get(t, set, "")
		require.Equal(t, c.d, e.DType)
		require.Equal(t, c.want, values(t, e))
	}
	set, err := read(pack(t, typed("0", 4, 2, ints(2), ints(1), "float8_e8m0fnu"), "m/data/0", four))
	require.NoError(t, err)
	b, err := get(t, set, "").Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{2, 3}, b)
	for _, name := range []string{"complex64", "float4_e2m1fn_x2", "float8_e4m3fnuz"} {
		set, err := read(pack(t, typed("0", 8, 0, ints(1), ints(1), name), "m/data/0", four+four))
		require.NoError(t, err)
		require.Equal(t, "torch."+name, get(t, set, "").Stored)
		_, err = get(t, set, "").View()
		require.ErrorIs(t, err, file.ErrUnsupported)
	}
}

func TestLayouts(t *testing.T) {
	body := "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"
	for _, c := range []struct {
		name         string
		offset       int
		size, stride []int
		want         []float64
	}{
		{"rows", 0, []int{2, 3}, []int{3, 1}, []float64{0, 1, 2, 3, 4, 5}},
		{"columns", 0, []int{3, 2}, []int{1, 3}, []float64{0, 3, 1, 4, 2, 5}},
		{"offset", 4, []int{3}, []int{1}, []float64{4, 5, 6}},
		{"gaps", 1, []int{3}, []int{3}, []float64{1, 4, 7}},
		{"repeated", 9, []int{2, 2}, []int{0, 0}, []float64{9, 9, 9, 9}},
		{"windows", 0, []int{3, 2}, []int{1, 1}, []float64{0, 1, 1, 2, 2, 3}},
		{"one", 5, nil, nil, []float64{5}},
		{"none", 10, []int{0, 3}, []int{3, 1}, []float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := dict(str("w"), tensor(storage("ByteStorage", "0", 10), c.offset, ints(c.size...), ints(c.stride...)))
			old := dict(str("w"), tensor(oldStorage("ByteStorage", "0", 10, none), c.offset, ints(c.size...), ints(c.stride...)))
			for _, b := range [][]byte{pack(t, value, "m/data/0", body), legacy(old, "0", 10, body)} {
				set, err := read(b)
				require.NoError(t, err)
				e := get(t, set, "w")
				require.Equal(t, c.want, values(t, e))
				require.Equal(t, len(c.size), e.Layout.Rank())
				if len(c.want) > 0 {
					require.Equal(t, byte(c.want[0]), b[e.Offset])
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	x := func(i int) string { return tensor(storage("ByteStorage", "0", 4), i, ints(1), ints(1)) }
	parameter := call(glob("torch._utils", "_rebuild_parameter"), x(1), true1, call(ordered))
	stateful := call(glob("torch._utils", "_rebuild_parameter_with_state"), x(2), true1, call(ordered), dict())
	subclass := call(glob("torch._tensor", "_rebuild_from_type_v2"), rebuild2, glob("torch.nn.parameter", "Parameter"),
		tup(storage("ByteStorage", "0", 4), num(3), ints(1), ints(1), false, call(ordered)), dict(str("tag"), num(1)))
	state := call(ordered) + "(" + cat(str("layer.0"), x(0), str("layer.1"), parameter, str("layer.2"), stateful, str("layer.3"), subclass) + "u" +
		dict(str("_metadata"), call(ordered)) + "b"
	value := dict(
		str("state_dict"), state,
		str("epoch"), num(3), str("rate"), "G\x3f\xe0\x00\x00\x00\x00\x00\x00", str("done"), false, str("what"), none, str("old"), "U\x02\xff\xfe",
		str("optimizer"), dict(str("state"), dict(num(7), dict(str("step"), x(1))), str("groups"), list(dict(str("params"), list(num(0), x(2))))),
		str("pair"), tup(x(3), list(), num(1)),
		str("size"), call(glob("torch", "Size"), ints(1, 2)),
		str("device"), call(glob("torch", "device"), str("cuda"), num(0)),
		str("kinds"), tup(glob("torch", "float16"), glob("torch", "Tensor"), glob("builtins", "int")),
		str("sets"), tup(call(glob("__builtin__", "set"), list(num(1))), "\x8f(K\x01\x90", "(K\x01\x91", call(glob("builtins", "frozenset"))),
		str("dicts"), tup(call(glob("collections", "defaultdict"), glob("builtins", "list")), call(glob("collections", "Counter"), dict(str("a"), num(1))),
			call(ordered, list(tup(str("deep"), x(1)), list(str("deeper"), x(2))))),
		str("bytes"), call(glob("_codecs", "encode"), str("x"), str("latin1")), str("raw"), "C\x01x",
		str("layout"), call(glob("torch.serialization", "_get_layout"), str("torch.strided")),
		str("data"), glob("torch.nn.parameter", "Parameter")+tup(x(0))+"\x81",
	)
	set, err := read(pack(t, value, "m/data/0", four))
	require.NoError(t, err)
	got := map[string]float64{}
	for e := range set.All() {
		got[e.Name] = values(t, e)[0]
	}
	require.Equal(t, map[string]float64{
		"state_dict.layer.0": 0, "state_dict.layer.1": 1, "state_dict.layer.2": 2, "state_dict.layer.3": 3,
		"optimizer.state.7.step": 1, "optimizer.groups.0.params.1": 2, "pair.0": 3, "dicts.2.deep": 1, "dicts.2.deeper": 2, "data": 0,
	}, got)

	b := pack(t, value, "m/data/0", four)
	set, err = read(b, "state_dict")
	require.NoError(t, err)
	require.Equal(t, []string{"layer.0", "layer.1", "layer.2", "layer.3"}, set.Names())
	set, err = read(b, "optimizer", "state")
	require.NoError(t, err)
	require.Equal(t, []string{"7.step"}, set.Names())
	set, err = read(b, "state_dict", "layer.1")
	require.NoError(t, err)
	require.Equal(t, []string{"layer.1"}, set.Names())
	set, err = read(b, "epoch")
	require.NoError(t, err)
	require.Zero(t, set.Len())
	_, err = read(b, "model")
	require.ErrorIs(t, err, file.ErrNotFound)
	require.ErrorContains(t, err, `key "model": below keys [] are "state_dict", "epoch"`)
	_, err = read(b, "epoch", "x")
	require.ErrorIs(t, err, file.ErrNotFound)
	require.ErrorContains(t, err, `below keys ["epoch"] is int, not a dict`)

	_, err = read(pack(t, dict(str("a.b"), x(0), str("a"), dict(str("b"), x(1))), "m/data/0", four))
	require.ErrorContains(t, err, `tensor "a.b": there are two tensors`)
	_, err = read(pack(t, dict(tup(num(1)), dict(str("b"), dict(str("c"), x(1)))), "m/data/0", four))
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, "a key is tuple, of which no name can be made")
	set, err = read(pack(t, dict(tup(num(1)), list(num(1)), true1, list(), str("a"), num(1), str("a"), x(1)), "m/data/0", four))
	require.NoError(t, err, "what has no tensors needs no names")
	require.Equal(t, []string{"a"}, set.Names())
}

// The files are PyTorch's own: see testdata/make.py.
func TestFilesOfPyTorch(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.pt")
	require.NoError(t, err)
	require.Len(t, paths, 4)
	for _, path := range paths {
		set, err := torch.Open(path)
		require.NoError(t, err, path)
		for name, want := range map[string][]float64{
			"rows": {0, 1, 2, 3, 4, 5}, "columns": {0, 3, 1, 4, 2, 5}, "part": {1, 2, 4, 5}, "expanded": {7, 7, 7},
			"scalar": {2.5}, "empty": {}, "param": {1, -2},
		} {
			require.Equal(t, want, values(t, get(t, set, "state_dict."+name)), "%s in %s", name, path)
		}
		for _, name := range strings.Fields("float64 float16 bfloat16 float8_e4m3fn float8_e5m2 uint8 int8 int16 int32 int64 bool uint16 uint32 uint64") {
			e := get(t, set, "state_dict."+name)
			require.Equal(t, "torch."+name, e.Stored)
			require.Equal(t, []float64{0, 1, 1}, values(t, e), "%s in %s", name, path)
		}
		for _, name := range []string{"complex64", "float8_e4m3fnuz", "negative"} {
			_, err := get(t, set, "state_dict."+name).Bytes()
			require.ErrorIs(t, err, file.ErrUnsupported)
		}
		require.Equal(t, []float64{1}, values(t, get(t, set, "model.num_batches_tracked")))
		require.Equal(t, layout.Shape{1}, get(t, set, "optimizer.state.0.exp_avg_sq").Shape())
		require.Equal(t, []int{1, 3}, get(t, set, "state_dict.columns").Layout.Strides())
		require.Equal(t, 24+5+6, set.Len())

		v, err := get(t, set, "state_dict.rows").View()
		require.NoError(t, err)
		require.NoError(t, set.Close())
		require.Len(t, v.Bytes(), 24, "a view outlives the set")
		v.Release()
	}
	_, err = torch.Open("testdata/none.pt")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLegacyStorages(t *testing.T) {
	// Two views of one storage, each another part of it, and tensors that share one.
	view := func(skip, n int) string {
		return oldStorage("ByteStorage", "9", 4, tup(str("v"), num(skip), num(n)))
	}
	value := list(tensor(view(1, 2), 1, ints(1), ints(1)), tensor(view(0, 1), 0, ints(1), ints(1)),
		tensor(oldStorage("ShortStorage", "10", 1, none), 0, ints(), ints()))
	b := legacy(value, "10", 1, "\x02\x01", "9", 4, four)
	set, err := read(b)
	require.NoError(t, err)
	require.Equal(t, []float64{2}, values(t, get(t, set, "0")))
	require.Equal(t, []float64{0}, values(t, get(t, set, "1")))
	require.Equal(t, []float64{258}, values(t, get(t, set, "2")))
	require.EqualValues(t, len(b)-2, get(t, set, "0").Offset)
	for n := range b {
		_, err := read(b[:n])
		require.Error(t, err, "%d bytes of %d", n, len(b))
	}
}
