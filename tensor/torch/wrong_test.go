package torch_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
)

// requireAt demands an error at the last place of a text in the file.
func requireAt(t *testing.T, err error, b []byte, at string) {
	t.Helper()
	var f *file.Error
	require.ErrorAs(t, err, &f)
	require.EqualValues(t, bytes.LastIndex(b, []byte(at)), f.Offset, "%v", err)
	require.Equal(t, "x.pth", f.Path)
}

func TestNothingIsExecuted(t *testing.T) {
	for _, name := range []string{
		"os system", "posix system", "nt system", "subprocess Popen", "builtins eval", "builtins exec", "__builtin__ eval", "builtins getattr", "builtins open", "builtins __import__",
		"torch load", "torch hub.load", "torch.hub load", "torch.storage _load_from_bytes", "torch._utils _import_dotted_name", "torch.jit load",
		"numpy.core.multiarray _reconstruct", "numpy.core.multiarray scalar", "pathlib PosixPath", "argparse Namespace", "collections namedtuple", "functools partial",
		"torch._utils _rebuild_qtensor", "torch._utils _rebuild_sparse_tensor", "_codecs decode", "copyreg _reconstructor",
		"torch FloatStorageX", "torch.nn FloatStorage", "torch float31", "torch.storage float32", "torch.Size __new__", " ",
	} {
		module, attr, _ := strings.Cut(name, " ")
		for _, b := range [][]byte{
			pack(t, call(glob(module, attr), str("true"))),
			pack(t, glob(module, attr)),
			pack(t, str(module)+str(attr)+"\x93"),
			legacy(call(glob(module, attr), str("true"))),
		} {
			_, err := read(b)
			require.ErrorIs(t, err, file.ErrUnsupported, name)
			want := strings.Replace(module, "__builtin__", "builtins", 1) + "." + attr
			require.ErrorContains(t, err, "the file wants "+want+" of Python, which is not among what rebuilds tensors")
			if bytes.Contains(b, []byte(glob(module, attr))) {
				requireAt(t, err, b, glob(module, attr))
			} else {
				requireAt(t, err, b, "\x93")
			}
		}
	}
}

func TestWrongPrograms(t *testing.T) {
	s := storage("ByteStorage", "0", 4)
	old := oldStorage("ByteStorage", "0", 4, none)
	for _, c := range []struct {
		name, value string
		kind        error
		at, text    string
	}{
		{"unknown operation", none + "\xff", file.ErrUnsupported, "\xff", "operation 0xff"},
		{"numbers as text", "I1\n", file.ErrUnsupported, "I1\n", "operation 0x49"},
		{"object of any class", "(ios\nsystem\n", file.ErrUnsupported, "ios", "operation 0x69"},
		{"version", "\x80\x06", file.ErrUnsupported, "\x80\x06", "version 6"},
		{"nothing", "", file.ErrFormat, ".", "the stack is empty"},
		{"two values", none + none, file.ErrFormat, ".", "1 values too many"},
		{"mark left", "(" + none, file.ErrFormat, ".", "1 values too many"},
		{"below the mark", none + "(0", file.ErrFormat, "0.", "the stack is empty"},
		{"no mark", none + "t", file.ErrFormat, "t.", "there is no mark"},
		{"pop mark", none + "1", file.ErrFormat, "1.", "there is no mark"},
		{"dup", "2", file.ErrFormat, "2.", "the stack is empty"},
		{"tuple", none + "\x86", file.ErrFormat, "\x86", "the stack is empty"},
		{"memo", "h\x05", file.ErrFormat, "h\x05", "nothing was memorised as 5"},
		{"memo of nothing", "q\x05", file.ErrFormat, "q\x05", "the stack is empty"},
		{"large memo", none + "r\xff\xff\xff\xff", file.ErrFormat, "r\xff", "4294967295 is no index"},
		{"text", "X\xff\xff\xff\xff", file.ErrTruncated, "X\xff", "4294967295 bytes are wanted"},
		{"long text", "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", file.ErrTruncated, "\x8d\xff", "18446744073709551615 bytes are wanted"},
		{"long bytes", "\x8e\x00\x00\x00\x00\x00\x01\x00\x00", file.ErrTruncated, "\x8e\x00", "1099511627776 bytes are wanted"},
		{"long number", "\x8b\xff\xff\xff\x7f", file.ErrTruncated, "\x8b\xff", "2147483647 bytes are wanted"},
		{"no UTF-8", "X\x01\x00\x00\x00\xff", file.ErrFormat, "X\x01", "not UTF-8"},
		{"name no UTF-8", glob("\xff", "a"), file.ErrFormat, "c\xff", "not UTF-8"},
		{"long name", glob(strings.Repeat("a", 2000), "a"), file.ErrFormat, "caa", "a name of more than 1024 bytes"},
		{"name of numbers", num(1) + num(2) + "\x93", file.ErrFormat, "\x93", "a name of Python is int, int"},
		{"append to none", none + none + "a", file.ErrFormat, "a.", "appended to None"},
		{"set in none", none + none + none + "s", file.ErrFormat, "s.", "set in None"},
		{"key alone", "}(" + none + "u", file.ErrFormat, "u.", "has no value"},
		{"dict of a key", "(" + none + "d", file.ErrFormat, "d.", "has no value"},
		{"build", str("x") + none + "b", file.ErrFormat, "b.", "attributes are set of str"},
		{"call of none", none + ")R", file.ErrFormat, "R.", "None cannot be called"},
		{"call of a type", glob("torch", "float32") + ")R", file.ErrFormat, "R.", "torch.float32 cannot be called"},
		{"call of a storage", glob("torch", "FloatStorage") + ")R", file.ErrFormat, "R.", "torch.FloatStorage cannot be called"},
		{"arguments", ordered + "NR", file.ErrFormat, "R.", "the arguments of a call are None"},
		{"arguments by name", ordered + ")" + dict(str("a"), none) + "\x92", file.ErrUnsupported, "\x92", "arguments by name"},
		{"size of none", call(glob("torch", "Size"), none), file.ErrFormat, "R.", "torch.Size cannot be called with (None)"},
		{"dict of numbers", call(ordered, list(num(1))), file.ErrFormat, "R.", "collections.OrderedDict cannot be called with (list)"},
		{"dict of two", call(ordered, none, none), file.ErrFormat, "R.", "called with (None, None)"},
		{"set of a number", call(glob("builtins", "set"), num(1)), file.ErrFormat, "R.", "builtins.set cannot be called with (int)"},
		{"parameter of none", call(glob("torch._utils", "_rebuild_parameter"), none), file.ErrFormat, "R.", "called with (None)"},
		{"tensor of nothing", call(rebuild2), file.ErrFormat, "R.", "torch._utils._rebuild_tensor_v2 cannot be called with ()"},
		{"tensor of text", call(rebuild2, s, str(""), ints(1), ints(1)), file.ErrFormat, "R.", "called with (storage, str, tuple, tuple)"},
		{"tensor of many", call(rebuild2, none, none, none, none, none, none, none, none, none, none), file.ErrFormat, "R.", "None, None, …)"},
		{"sizes and strides", tensor(s, 0, ints(1, 2), ints(1)), file.ErrFormat, "R.", "2 sizes and 1 strides"},
		{"rank", tensor(s, 0, ints(make([]int, 65)...), ints(make([]int, 65)...)), file.ErrUnsupported, "R.", "65 dimensions"},
		{"sizes of text", tensor(s, 0, tup(str("1")), ints(1)), file.ErrFormat, "R.", "must be integers"},
		{"no type", call(rebuild2, tup(str("storage"), glob("torch", "UntypedStorage"), str("0"), str("cpu"), num(4))+"Q", num(0), ints(1), ints(1)), file.ErrFormat, "R.", "without a type"},
		{"dtype missing", call(rebuild3, s, num(0), ints(1), ints(1)), file.ErrFormat, "R.", "_rebuild_tensor_v3 cannot be called"},
		{"dtype is a storage", call(rebuild3, s, num(0), ints(1), ints(1), none, none, glob("torch", "FloatStorage")), file.ErrFormat, "R.", "torch.FloatStorage)"},
		{"from type", call(glob("torch._tensor", "_rebuild_from_type_v2"), glob("torch._tensor", "_rebuild_from_type_v2"), none, tup()), file.ErrFormat, "R.", "cannot be called"},
		{"from type of nothing", call(glob("torch._tensor", "_rebuild_from_type_v2")), file.ErrFormat, "R.", "cannot be called"},
		{"storage id", num(1) + "Q", file.ErrFormat, "Q.", "int is no id"},
		{"storage of nothing", tup(str("storage")) + "Q", file.ErrFormat, "Q.", "the id of a storage is (str)"},
		{"storage of another class", tup(str("storage"), ordered, str("0"), str("cpu"), num(4)) + "Q", file.ErrFormat, "Q.", "the id of a storage is (str, collections.OrderedDict,"},
		{"negative storage", storage("ByteStorage", "0", -1), file.ErrFormat, "Q.", "the id of a storage is"},
		{"view of none", oldStorage("ByteStorage", "0", 4, num(1)), file.ErrFormat, "Q.", "the id of a storage is"},
		{"view outside", oldStorage("ByteStorage", "0", 4, tup(str("v"), num(3), num(2))), file.ErrFormat, "Q.", "the id of a storage is"},
		{"view of text", oldStorage("ByteStorage", "0", 4, tup(str("v"), str("3"), num(2))), file.ErrFormat, "Q.", "the id of a storage is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := pack(t, c.value, "m/data/0", four)
			_, err := read(b)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			text := []byte(program(c.value))
			requireAt(t, err, b[:bytes.Index(b, text)+len(text)], c.at)
			old := legacy(strings.ReplaceAll(c.value, s, old), "0", 4, four)
			_, err = read(old)
			require.Error(t, err)
		})
	}
}

func TestTensorsOutsideTheirStorage(t *testing.T) {
	for _, c := range []struct {
		name         string
		n, offset    int
		size, stride string
		kind         error
		text         string
	}{
		{"too long", 4, 0, ints(5), ints(1), file.ErrTruncated, "needs 5 bytes, and there are 4"},
		{"offset", 4, 1, ints(4), ints(1), file.ErrTruncated, "from element 1 on needs 5 bytes"},
		{"strides", 4, 0, ints(2, 2), ints(3, 1), file.ErrTruncated, "needs 5 bytes"},
		{"negative offset", 4, -1, ints(1), ints(1), file.ErrFormat, "number -1"},
		{"huge offset", 4, 1<<63 - 1, ints(1), ints(1), file.ErrFormat, "number 9223372036854775807"},
		{"negative size", 4, 0, ints(-1), ints(1), file.ErrFormat, "negative"},
		{"negative stride", 4, 3, ints(2), ints(-1), file.ErrFormat, "negative"},
		{"wraps", 4, 0, ints(1<<32, 1<<32), ints(0, 0), file.ErrFormat, "too large"},
		{"stride wraps", 4, 0, ints(3), ints(1 << 62), file.ErrFormat, "too large"},
		{"storage is short", 5, 0, ints(1), ints(1), file.ErrFormat, `storage "0": 5 elements of 1 bytes, and there are 4 bytes`},
		{"storage is huge", 1<<63 - 1, 0, ints(1), ints(1), file.ErrFormat, "and there are 4 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := dict(str("w"), tensor(storage("ByteStorage", "0", c.n), c.offset, c.size, c.stride))
			_, err := read(pack(t, value, "m/data/0", four))
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, `tensor "w"`)
			_, err = read(legacy(dict(str("w"), tensor(oldStorage("ByteStorage", "0", c.n, none), c.offset, c.size, c.stride)), "0", 4, four))
			require.Error(t, err)
		})
	}
	set, err := read(pack(t, tensor(storage("ByteStorage", "0", 4), 0, ints(1<<40), ints(0)), "m/data/0", four))
	require.NoError(t, err)
	_, err = get(t, set, "").Bytes()
	require.ErrorIs(t, err, file.ErrUnsupported, "a terabyte of one element")
}

func TestPendingOperations(t *testing.T) {
	lazy := func(bit string) string {
		return call(rebuild2, storage("ByteStorage", "0", 4), num(0), ints(1), ints(1), false, call(ordered), dict(str(bit), true1))
	}
	set, err := read(pack(t, dict(str("a"), lazy("neg"), str("b"), lazy("other")), "m/data/0", four))
	require.NoError(t, err)
	require.Equal(t, []float64{0}, values(t, get(t, set, "b")))
	_, err = get(t, set, "a").Bytes()
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, "torch.uint8 with pending neg")
}

func TestWrongArchives(t *testing.T) {
	value := tensor(storage("ByteStorage", "0", 4), 0, ints(4), ints(1))
	for _, c := range []struct {
		name string
		file []byte
		kind error
		text string
	}{
		{"no program", packAs(t, zip.Store, "m/data/0", four), file.ErrFormat, "without data.pkl"},
		{"like a program", packAs(t, zip.Store, "m/xdata.pkl", program(none)), file.ErrFormat, "without data.pkl"},
		{"two programs", packAs(t, zip.Store, "m/data.pkl", program(none), "n/data.pkl", program(none)), file.ErrFormat, "more than one data.pkl"},
		{"TorchScript", pack(t, value, "m/data/0", four, "m/constants.pkl", program(none)), file.ErrUnsupported, "TorchScript"},
		{"no storage", pack(t, value), file.ErrFormat, "no member m/data/0"},
		{"storage of another", pack(t, value, "n/data/0", four), file.ErrFormat, "no member m/data/0"},
		{"byte order", pack(t, value, "m/data/0", four, "m/byteorder", "middle"), file.ErrFormat, `byte order "middle"`},
		{"behind the program", packAs(t, zip.Store, "m/data.pkl", program(none)+"x"), file.ErrFormat, "1 bytes behind the program"},
		{"program cut", packAs(t, zip.Store, "m/data.pkl", "\x80\x02"), file.ErrTruncated, "1 bytes are wanted, and 0 are left"},
		{"large program", packAs(t, zip.Deflate, "m/data.pkl", strings.Repeat("N", 64<<20+1)), file.ErrUnsupported, "want 67108864 at most"},
		{"no archive", []byte("PK\x03\x04"), file.ErrTruncated, "zip"},
		{"nothing", nil, file.ErrTruncated, "the file is empty"},
		{"text", []byte("hello"), file.ErrFormat, "no file of PyTorch"},
		{"another pickle", []byte(program(dict())), file.ErrFormat, "magic number"},
		{"tar", append(make([]byte, 257), "ustar00"...), file.ErrUnsupported, "a tar archive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.file)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
		})
	}
	set, err := read(packAs(t, zip.Store, "data.pkl", program(value), "data/0", four, "x/data.pkl", "other"))
	require.NoError(t, err, "an archive without a folder, and another program deeper")
	require.Equal(t, []float64{0, 1, 2, 3}, values(t, get(t, set, "")))
}

func TestWrongLegacyFiles(t *testing.T) {
	s := oldStorage("ShortStorage", "0", 2, none)
	value := tensor(s, 0, ints(2), ints(1))
	head := magic + program(num(1001)) + program(dict()) + program(value)
	count := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, c := range []struct {
		name, file string
		kind       error
		text       string
	}{
		{"version", magic + program(num(1000)), file.ErrUnsupported, "version 1000"},
		{"module", magic + program(num(1001)) + program(dict()) + program(tup(str("module"), ordered, str(""), str(""))+"Q"), file.ErrUnsupported, "a module"},
		{"keys", head + program(none), file.ErrFormat, "the keys of storages are None"},
		{"storage among keys", head + program(list(s)), file.ErrFormat, "is no id of a storage"},
		{"key of none", head + program(list(none)), file.ErrFormat, "None"},
		{"unknown key", head + program(list(str("1"))), file.ErrFormat, `str "1"`},
		{"key twice", head + program(list(str("0"), str("0"))) + count(2) + four + count(2) + four, file.ErrFormat, `str "0"`},
		{"key missing", head + program(list()), file.ErrFormat, "not among the keys"},
		{"no storage", head + program(list(str("0"))), file.ErrTruncated, `storage "0" should begin`},
		{"count", head + program(list(str("0"))) + count(3) + four + four, file.ErrFormat, "3 elements, and 2 were said"},
		{"huge count", head + program(list(str("0"))) + count(1<<63) + four, file.ErrFormat, "9223372036854775808 elements"},
		{"elements cut", head + program(list(str("0"))) + count(2) + four[:3], file.ErrTruncated, "2 elements of 2 bytes"},
		{"bytes left", head + program(list(str("0"))) + count(2) + four + "x", file.ErrFormat, "1 bytes behind the storages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read([]byte(c.file))
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.GreaterOrEqual(t, f.Offset, int64(0))
			require.LessOrEqual(t, f.Offset, int64(len(c.file)))
		})
	}
}

// A program takes memory in proportion to the file, however it is compressed and repeats itself.
func TestMemoryOfSmallFiles(t *testing.T) {
	x := tensor(storage("ByteStorage", "0", 4), 0, ints(1), ints(1)) + "q\x01"
	many := "]q\x00" + strings.Repeat("(h\x01"+strings.Repeat("h\x01", 999)+"e", 400)
	for name, value := range map[string]string{
		"lists":    "(" + strings.Repeat("]", 15<<20) + "t",
		"dicts":    "(" + strings.Repeat("}", 2<<20) + "t",
		"tuples":   strings.Repeat(")0", 1<<20) + none,
		"nested":   none + strings.Repeat("\x85", 2<<20),
		"memo":     none + strings.Repeat("\x94", 2<<20),
		"marks":    strings.Repeat("(", 2<<20),
		"numbers":  "(" + strings.Repeat("K\x01", 1<<20) + "t",
		"items":    "]qh" + strings.Repeat("(hh"+strings.Repeat("hh", 999)+"e", 700),
		"texts":    "(" + strings.Repeat("U\x04abcd", 1<<18) + "t",
		"calls":    "(" + strings.Repeat("h\x02)R", 1<<19) + "t",
		"entries":  x + "0" + many,
		"longname": x + "0" + dict(str(strings.Repeat("a", 1000)), many),
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(value, "h\x02") {
				value = ordered + "q\x020" + value
			}
			packed := packAs(t, zip.Deflate, "m/data.pkl", program(value), "m/data/0", four)
			require.Less(t, len(packed), 64<<10)
			value = "" // not counted
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(packed)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, file.ErrUnsupported)
			require.ErrorContains(t, err, "values that take more than")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(80<<20))
		})
	}
}

// Programs whose value looks larger than any memory.
func TestBombs(t *testing.T) {
	laughs := "](" + none + "eq\x00"
	for i := range 60 {
		from, to := string([]byte{'h', byte(i)}), string([]byte{'q', byte(i + 1)})
		laughs += "0](" + from + from + "e" + to
	}
	copies := "(" + strings.Repeat(none, 1<<14) + "tq\x000" + none
	for range 1 << 11 {
		copies += glob("builtins", "set") + "h\x00\x85R0"
	}
	x := tensor(storage("ByteStorage", "0", 4), 0, ints(1), ints(1))
	for _, c := range []struct{ name, value, text string }{
		{"in itself", "]q\x00h\x00a", "within each other more than 100 times"},
		{"dict in itself", "}q\x00" + str("a") + "h\x00s", "within each other more than 100 times"},
		{"deep", strings.Repeat("]", 200) + strings.Repeat("a", 199), "within each other more than 100 times"},
		{"laughs", laughs, "more than 1048576 lists and dicts"},
		{"copies", copies, "values that take more than"},
		{"long name", dict(str(strings.Repeat("a", 600)), dict(str(strings.Repeat("b", 600)), x)), "a name of more than 1024 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(pack(t, c.value, "m/data/0", four))
			require.ErrorIs(t, err, file.ErrUnsupported)
			require.ErrorContains(t, err, c.text)
		})
	}
	_, err := read(packAs(t, zip.Deflate, "m/data.pkl", program(strings.Repeat("N0", 1<<23))))
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, "a program of more than 16777216 operations")
}
