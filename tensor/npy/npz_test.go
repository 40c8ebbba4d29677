package npy_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

func readNPZ(b []byte) (*file.Set, error) { return npy.ReadNPZ(file.FromBytes("x.npz", b)) }

// pack makes an archive of members, name and bytes in turn.
func pack(t testing.TB, method uint16, members ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i].(string), Method: method})
		require.NoError(t, err)
		_, err = w.Write(members[i+1].([]byte))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// What numpy.savez_compressed of NumPy 2.4 writes for a = arange(4) of i1 and
// b = ones((2, 2)) of f2 in column-major order.
const byNumPy = "504b03042d00000008000000210037bc66ffffffffffffffffff05001400612e6e707901001000840000000000000048000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e9369a8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a263a9a3a0ab50a14002e0646266600504b03042d0000000800000021000f734e26ffffffffffffffff05001400622e6e707901001000880000000000000049000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a120f292a4d050a17672416a402b91a463a0a469a3a0ab50ae4032e061b080400504b01022d032d00000008000000210037bc66ff4800000084000000050000000000000000000000800100000000612e6e7079504b01022d032d0000000800000021000f734e26490000008800000005000000000000000000000080017f000000622e6e7079504b0506000000000200020066000000ff0000000000"

func TestArchiveOfNumPy(t *testing.T) {
	b, err := hex.DecodeString(byNumPy)
	require.NoError(t, err)
	set, err := readNPZ(b)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, set.Names())
	e, err := set.Get("a")
	require.NoError(t, err)
	require.Equal(t, "|i1", e.Stored)
	require.EqualValues(t, -1, e.Offset, "it is compressed")
	require.Equal(t, []int64{0, 1, 2, 3}, ints(t, e))
	part, err := e.Narrow(0, 1, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, ints(t, part))
	e, err = set.Get("b")
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, e.Layout.Strides())
	require.Equal(t, []int64{1, 1, 1, 1}, ints(t, e))
}

func TestArchiveThereAndBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	columns, err := read(image(1, header("<i4", "True", "(2, 2)"), 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0))
	require.NoError(t, err)
	require.NoError(t, npy.WriteNPZFile(path,
		memory(t, "z", dtype.U8, layout.Shape{3}, 1, 2, 3),
		columns,
		memory(t, "längste.name/überhaupt", dtype.F64, layout.Shape{}, 0, 0, 0, 0, 0, 0, 0, 0x40)))
	set, err := npy.OpenNPZ(path)
	require.NoError(t, err)
	require.Equal(t, []string{"z", "x", "längste.name/überhaupt"}, set.Names())
	for i, want := range [][]int64{{1, 2, 3}, {1, 3, 2, 4}, {2}} {
		e, err := set.Get(set.Names()[i])
		require.NoError(t, err)
		require.Zero(t, e.Offset%64, "%s is aligned", e.Name)
		require.Equal(t, want, ints(t, e))
	}
	e, err := set.Get("z")
	require.NoError(t, err)
	v, err := e.View()
	require.NoError(t, err)
	require.NoError(t, set.Close())
	require.Equal(t, []byte{1, 2, 3}, v.Bytes())
	v.Release()
}

func TestOtherMembersAreLeftOut(t *testing.T) {
	arr := image(1, header("|u1", "False", "(2,)"), 1, 2)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		set, err := readNPZ(pack(t, method, "sub/", []byte(nil), "readme.txt", []byte("text"), "a.npy", arr, "b", arr, "", []byte("x")))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, set.Names())
	}
}

func TestWrongArchives(t *testing.T) {
	arr := image(1, header("|u1", "False", "(2,)"), 1, 2)
	_, err := readNPZ(pack(t, zip.Store, "a.npy", []byte("no array")))
	require.ErrorIs(t, err, file.ErrFormat)
	_, err = readNPZ(pack(t, zip.Store, "a.npy", arr, "a", arr))
	require.ErrorContains(t, err, `tensor "a": there are two tensors`)
	_, err = readNPZ(pack(t, zip.Deflate, "a.npy", arr[:len(arr)-1]))
	require.ErrorIs(t, err, file.ErrTruncated)
	require.ErrorContains(t, err, "x.npz(a.npy): truncated")

	// A wrong byte is found when the array is read, and only then.
	b := pack(t, zip.Store, "a.npy", arr)
	b[bytes.Index(b, arr)+len(arr)-1]++
	set, err := readNPZ(b)
	require.NoError(t, err)
	e, err := set.Get("a")
	require.NoError(t, err)
	for range 2 {
		_, err = e.Bytes()
		require.ErrorIs(t, err, file.ErrFormat)
		require.ErrorContains(t, err, `tensor "a": member a.npy: its checksum is`)
	}
	one := memory(t, "a", dtype.U8, layout.Shape{1}, 1)
	require.ErrorIs(t, npy.WriteNPZ(&bytes.Buffer{}, one, one), file.ErrUnsupported)
	require.ErrorIs(t, npy.WriteNPZ(&bytes.Buffer{}, memory(t, "\xff", dtype.U8, layout.Shape{1}, 1)), file.ErrUnsupported)
	require.ErrorIs(t, npy.WriteNPZ(&bytes.Buffer{}, memory(t, string(make([]byte, 70000)), dtype.U8, layout.Shape{1}, 1)), file.ErrUnsupported)
}
