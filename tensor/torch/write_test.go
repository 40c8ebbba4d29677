package torch_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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

// members is the members of an archive by their names behind the folder.
func members(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		at, err := f.DataOffset()
		require.NoError(t, err)
		require.Zero(t, at%64, f.Name)
		_, name, _ := strings.Cut(f.Name, "/")
		out[name] = string(text)
	}
	return out
}

func write(t *testing.T, of ...*file.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, torch.Write(&b, of...))
	return b.Bytes()
}

func all(set *file.Set) (list []*file.Entry) {
	for e := range set.All() {
		list = append(list, e)
	}
	return list
}

// What PyTorch wrote, read and written again: the same program and the same storages.
func TestWriteAsPyTorch(t *testing.T) {
	set, err := torch.Open("testdata/written.pth")
	require.NoError(t, err)
	b, err := os.ReadFile("testdata/written.pth")
	require.NoError(t, err)
	want := members(t, b)
	for name := range want {
		if strings.HasPrefix(name, ".") { // of younger versions
			delete(want, name)
		}
	}
	got := write(t, all(set)...)
	if path := os.Getenv("KILN_WRITTEN"); path != "" { // for testdata/check.py
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	for name, text := range members(t, got) {
		require.True(t, text == want[name], "%s: %.200q, want %.200q", name, text, want[name])
		delete(want, name)
	}
	require.Empty(t, want)
	again, err := read(got)
	require.NoError(t, err)
	require.Equal(t, set.Names(), again.Names())
	for _, e := range all(set) {
		x := get(t, again, e.Name)
		require.Equal(t, e.Stored, x.Stored, e.Name)
		require.Equal(t, e.Shape(), x.Shape(), e.Name)
		p, err := e.Bytes()
		require.NoError(t, err)
		q, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, p, q, e.Name)
	}
	require.NoError(t, set.Close())
}

func memory(t *testing.T, name string, d dtype.DType, s layout.Shape, b ...byte) *file.Entry {
	t.Helper()
	e, err := file.FromMemory(name, d, s, b)
	require.NoError(t, err)
	return e
}

// Programs of any number of tensors, whose digests PyTorch's program made.
func TestProgramsOfManyTensors(t *testing.T) {
	text, err := os.ReadFile("testdata/programs.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 9)
	for _, line := range lines {
		var list []*file.Entry
		what, want, _ := strings.Cut(line, " ")
		if what == "tensor" {
			list = append(list, memory(t, "", dtype.F32, layout.Shape{2}, make([]byte, 8)...))
		} else {
			var n int
			_, err := fmt.Sscan(what, &n)
			require.NoError(t, err)
			for i := range n {
				list = append(list, memory(t, fmt.Sprint("t", i), dtype.U8, layout.Shape{1}, byte(i)))
			}
		}
		b := write(t, list...)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256([]byte(members(t, b)["data.pkl"]))), what)
		set, err := read(b)
		require.NoError(t, err)
		require.Equal(t, len(list), set.Len())
	}
}

// Views of one storage, and numbers with the most significant byte first, become storages of their
// own.
func TestWriteViews(t *testing.T) {
	value := dict(str("x"), tensor(storage("ShortStorage", "0", 4), 0, ints(2, 2), ints(1, 2)),
		str("y"), tensor(storage("ShortStorage", "0", 4), 1, ints(3), ints(1)))
	set, err := read(pack(t, value, "m/data/0", "\x00\x01\x00\x02\x00\x03\x00\x04", "m/byteorder",
		"big"))
	require.NoError(t, err)
	got := members(t, write(t, all(set)...))
	require.Equal(t, "\x01\x00\x03\x00\x02\x00\x04\x00", got["data/0"])
	require.Equal(t, "\x02\x00\x03\x00\x04\x00", got["data/1"])
	require.Equal(t, "little", got["byteorder"])
}

func TestWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	lost := errors.New("disk lost")
	one := memory(t, "a", dtype.U8, layout.Shape{1}, 1)
	enc := file.Blocks("Q8_0", 32, 34)
	blocks, err := file.FromBlocks("q", enc, layout.Shape{32},
		func() ([]byte, error) { return make([]byte, 34), nil })
	require.NoError(t, err)
	short, err := file.FromFunc("s", dtype.U8, layout.Shape{2},
		func() ([]byte, error) { return nil, lost })
	require.NoError(t, err)
	for _, c := range []struct {
		of   []*file.Entry
		want string
		kind error
	}{
		{[]*file.Entry{one, one}, `tensor "a": there are two tensors of this name`, file.ErrUnsupported},
		{[]*file.Entry{memory(t, "\xff", dtype.U8, layout.Shape{1}, 1)}, "not UTF-8",
			file.ErrUnsupported},
		{[]*file.Entry{memory(t, strings.Repeat("n", 1025), dtype.U8, layout.Shape{1}, 1)},
			"a name of 1025 bytes, want 1024 at most", file.ErrUnsupported},
		{[]*file.Entry{one, blocks}, `tensor "q": PyTorch has no type for Q8_0`, file.ErrUnsupported},
		{[]*file.Entry{one, short}, "disk lost", lost},
	} {
		err := torch.WriteFile(filepath.Join(dir, "x.pth"), c.of...)
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, c.kind)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// What fails in writing is the error of Write.
func TestWriteErrors(t *testing.T) {
	list := []*file.Entry{memory(t, "a", dtype.U8, layout.Shape{3}, 1, 2, 3),
		memory(t, "b", dtype.U8, layout.Shape{9000}, make([]byte, 9000)...)}
	whole := write(t, list...)
	for n := 0; n < len(whole); n += 97 {
		require.ErrorIs(t, torch.Write(&full{n}, list...), io.ErrShortWrite, "%d", n)
	}
}

// full is a disk with so many bytes left.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
