package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/internal/archive"
)

// packed is a member of an archive to be made.
type packed struct {
	zip.FileHeader
	raw []byte
}

func stored(name string, b []byte) packed {
	return packed{zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE(b), CompressedSize64: uint64(len(b)), UncompressedSize64: uint64(len(b))}, b}
}

// deflated is a member of zeros.
func deflated(t *testing.T, name string, zeros int) packed {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, zeros))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	raw, err := r.File[0].OpenRaw()
	require.NoError(t, err)
	var body bytes.Buffer
	_, err = body.ReadFrom(raw)
	require.NoError(t, err)
	h := r.File[0].FileHeader
	h.Flags &^= 8
	return packed{h, body.Bytes()}
}

func pack(t *testing.T, members ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateRaw(&m.FileHeader)
		require.NoError(t, err)
		_, err = w.Write(m.raw)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func open(b []byte) (*archive.Archive, error) { return archive.Open(file.FromBytes("x.zip", b)) }

func TestMembers(t *testing.T) {
	b := pack(t, stored("a", []byte("hello")), packed{FileHeader: zip.FileHeader{Name: "dir/"}}, deflated(t, "dir/b", 5000))
	a, err := open(b)
	require.NoError(t, err)
	require.Len(t, a.Members, 2)
	require.Nil(t, a.Member("c"))
	m := a.Member("a")
	require.EqualValues(t, bytes.Index(b, []byte("hello")), m.Offset)
	require.NoError(t, m.Verify())
	v, err := m.View(1, 3)
	require.NoError(t, err)
	require.Equal(t, "ell", string(v.Bytes()))
	path, base := m.Path()
	require.Equal(t, "x.zip", path)
	require.Equal(t, m.Offset, base)
	m = a.Member("dir/b")
	require.EqualValues(t, -1, m.Offset)
	require.EqualValues(t, 5000, m.Size())
	require.NoError(t, m.Verify())
	path, base = m.Path()
	require.Equal(t, "x.zip(dir/b)", path)
	require.Zero(t, base)
	for _, part := range [][2]int64{{0, 5000}, {4999, 1}, {0, 0}, {5000, 0}, {100, 200}} {
		v, err = m.View(part[0], part[1])
		require.NoError(t, err)
		require.Equal(t, make([]byte, part[1]), append([]byte{}, v.Bytes()...))
	}
	for _, m := range a.Members {
		for _, part := range [][2]int64{{0, 5001}, {5000, 1}, {-1, 1}, {1, -1}, {1 << 62, 1 << 62}} {
			_, err = m.View(part[0], part[1])
			require.ErrorIs(t, err, file.ErrTruncated, "%v", part)
		}
	}
}

func TestWrongArchives(t *testing.T) {
	change := func(p packed, edit func(*packed)) packed {
		edit(&p)
		return p
	}
	hello := stored("a", []byte("hello"))
	for _, c := range []struct {
		name string
		file []byte
		kind error
		text string
	}{
		{"text", []byte("hello"), file.ErrFormat, "at byte 0: no zip archive"},
		{"nothing", nil, file.ErrFormat, "no zip archive"},
		{"cut", pack(t, hello)[:60], file.ErrTruncated, "without a directory at its end"},
		{"twice", pack(t, hello, hello), file.ErrFormat, "member a: there are two members"},
		{"sizes differ", pack(t, change(hello, func(p *packed) { p.UncompressedSize64 = 6 })), file.ErrFormat, "stored in 5 bytes, and has 6"},
		{"larger than the file", pack(t, change(hello, func(p *packed) { p.CompressedSize64, p.UncompressedSize64 = 1<<31, 1<<31 })), file.ErrFormat, "larger than the archive"},
		{"bomb", pack(t, change(deflated(t, "a", 100), func(p *packed) { p.UncompressedSize64 = 1 << 40 })), file.ErrFormat, "cannot unpack to 1099511627776"},
		{"reaches over the end", pack(t, change(hello, func(p *packed) { p.CompressedSize64, p.UncompressedSize64 = 100, 100 })), file.ErrTruncated, "member a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(c.file)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.LessOrEqual(t, f.Offset, int64(len(c.file)))
		})
	}
}

func TestWrongMembers(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*packed)
		kind error
		text string
	}{
		{"encrypted", func(p *packed) { p.Flags |= 1 }, file.ErrUnsupported, "it is encrypted"},
		{"method", func(p *packed) { p.Method = 93 }, file.ErrUnsupported, "compression method 93"},
		{"checksum", func(p *packed) { p.CRC32++ }, file.ErrFormat, "checksum"},
		{"less than said", func(p *packed) { p.UncompressedSize64++ }, file.ErrTruncated, "unpacks to less than 5001"},
		{"more than said", func(p *packed) { p.UncompressedSize64-- }, file.ErrFormat, "unpacks to more"},
		{"no deflate", func(p *packed) { p.raw = bytes.Repeat([]byte{0xff}, len(p.raw)) }, file.ErrFormat, "flate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := deflated(t, "a", 5000)
			c.edit(&p)
			a, err := open(pack(t, p))
			require.NoError(t, err)
			m := a.Member("a")
			_, err = m.View(0, m.Size())
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, "member a: ")
		})
	}
	b := pack(t, stored("a", []byte("hello")))
	b[bytes.Index(b, []byte("hello"))] = 'j'
	a, err := open(b)
	require.NoError(t, err)
	require.ErrorContains(t, a.Member("a").Verify(), "its checksum is")

	// The header in front of the bytes is not that of a member.
	b = pack(t, stored("a", []byte("hello")))
	binary.LittleEndian.PutUint32(b, 0)
	_, err = open(b)
	require.ErrorIs(t, err, file.ErrFormat)
}
