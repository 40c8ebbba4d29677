package torch_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/torch"
)

// What follows writes programs of pickle by hand. Each function returns operations that
// push one value.

func cat(parts ...string) string {
	out := ""
	for _, p := range parts {
		out += p
	}
	return out
}

func str(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func num(n int) string {
	if n == int(int32(n)) {
		return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func glob(module, name string) string { return "c" + module + "\n" + name + "\n" }
func tup(items ...string) string      { return "(" + cat(items...) + "t" }
func list(items ...string) string     { return "](" + cat(items...) + "e" }

// dict is of keys and values in turn.
func dict(items ...string) string { return "}(" + cat(items...) + "u" }

func ints(n ...int) string {
	out := ""
	for _, x := range n {
		out += num(x)
	}
	return "(" + out + "t"
}

func call(f string, args ...string) string { return f + tup(args...) + "R" }

const (
	none  = "N"
	true1 = "\x88"
	false = "\x89"
)

var (
	ordered  = glob("collections", "OrderedDict")
	rebuild2 = glob("torch._utils", "_rebuild_tensor_v2")
	rebuild3 = glob("torch._utils", "_rebuild_tensor_v3")
)

func storage(class, key string, n int) string {
	return tup(str("storage"), glob("torch", class), str(key), str("cpu"), num(n)) + "Q"
}

func tensor(storage string, offset int, size, stride string) string {
	return call(rebuild2, storage, num(offset), size, stride, false, call(ordered))
}

// typed is a tensor of an untyped storage.
func typed(key string, bytes, offset int, size, stride, dtype string) string {
	s := tup(str("storage"), glob("torch.storage", "UntypedStorage"), str(key), str("cpu"), num(bytes)) + "Q"
	return call(rebuild3, s, num(offset), size, stride, false, call(ordered), glob("torch", dtype))
}

func program(value string) string { return "\x80\x02" + value + "." }

// pack is the archive of a value; members follow, name and bytes in turn.
func pack(t testing.TB, value string, members ...string) []byte {
	t.Helper()
	return packAs(t, zip.Store, append([]string{"m/data.pkl", program(value)}, members...)...)
}

func packAs(t testing.TB, method uint16, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		require.NoError(t, err)
		_, err = w.Write([]byte(members[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

const magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."

// legacy is a file of the old format; storages are key, count and bytes in turn.
func legacy(value string, storages ...any) []byte {
	out := magic + program(num(1001)) + program(dict(str("little_endian"), true1)) + program(value)
	var keys []string
	body := ""
	for i := 0; i < len(storages); i += 3 {
		keys = append(keys, str(storages[i].(string)))
		body += string(binary.LittleEndian.AppendUint64(nil, uint64(storages[i+1].(int)))) + storages[i+2].(string)
	}
	return []byte(out + program(list(keys...)) + body)
}

// oldStorage is a storage of the old format, or a view of it.
func oldStorage(class, key string, n int, view string) string {
	return tup(str("storage"), glob("torch", class), str(key), str("cpu"), num(n), view) + "Q"
}

func read(b []byte, keys ...string) (*file.Set, error) {
	return torch.Read(file.FromBytes("x.pth", b), keys...)
}
