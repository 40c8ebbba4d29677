package bundle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
)

// sample is entries as programs have them: text that repeats itself, and some noise.
func sample(n int) map[cache.Key]*cache.Entry {
	rng := rand.New(rand.NewPCG(1, 2))
	out := map[cache.Key]*cache.Entry{}
	for i := range n {
		target := []string{Common, "hip:gfx942", "ptx:sm_80", "ptx:sm_90"}[i%4]
		kind := cache.KindArtifact
		if target == Common {
			kind = cache.KindSource
		}
		body := strings.Repeat(fmt.Sprintf("ld.param.u64 %%rd%d, [arg]; fma.rn.f32 %%f1, %%f2, %%f3, %%f4;\n", i), 20)
		noise := make([]byte, rng.IntN(200))
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		out[cache.NewKey(fmt.Sprint(i))] = &cache.Entry{
			Header: cache.Header{Kind: kind, Kernel: fmt.Sprintf("pkg.K%d[float32]", i/4), Target: target, Format: "ptx", Tool: "test", Meta: []byte(`{"Entry":"K"}`)},
			Body:   append([]byte(body), noise...),
		}
	}
	return out
}

func written(t testing.TB, entries map[cache.Key]*cache.Entry, sign ...ed25519.PrivateKey) []byte {
	t.Helper()
	w := Writer{Compiler: "7", Sign: sign}
	for k, e := range entries { // in the order of the map: another one every time
		require.NoError(t, w.Add(k, e))
	}
	var b bytes.Buffer
	n, err := w.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes()
}

func parse(t testing.TB, data []byte) *Bundle {
	t.Helper()
	b, err := Parse("test.kiln", string(data))
	require.NoError(t, err)
	return b
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 7, 100, 1000} {
		entries := sample(n)
		data := written(t, entries)
		b := parse(t, data)
		require.NoError(t, b.Verify())
		require.Equal(t, "7", b.Header().Compiler)
		items, err := b.Manifest()
		require.NoError(t, err)
		require.Len(t, items, n)
		raw := 0
		for k, e := range entries {
			got, err := b.Get(e.Target, k)
			require.NoError(t, err)
			require.Equal(t, e, got)
			raw += len(e.Body)
			_, err = b.Get("ptx:sm_70", k)
			require.ErrorIs(t, err, ErrMissing)
		}
		_, err = b.Get(Common, cache.NewKey("none"))
		require.ErrorIs(t, err, ErrMissing)
		if n == 1000 {
			require.Less(t, len(data), raw/3, "entries that resemble one another compress")
		}
	}
}

func TestSameBytesWhateverTheOrder(t *testing.T) {
	entries := sample(200)
	first := written(t, entries)
	for range 3 {
		require.Equal(t, first, written(t, entries))
	}
}

func TestEntriesThatDifferUnderOneKey(t *testing.T) {
	var w Writer
	k := cache.NewKey("k")
	require.NoError(t, w.Add(k, &cache.Entry{Header: cache.Header{Kernel: "p.K", Target: "cpu"}, Body: []byte("a")}))
	require.NoError(t, w.Add(k, &cache.Entry{Header: cache.Header{Kernel: "p.K", Target: "cpu"}, Body: []byte("a")}))
	require.Equal(t, 1, w.Len())
	err := w.Add(k, &cache.Entry{Header: cache.Header{Kernel: "p.K", Target: "cpu"}, Body: []byte("b")})
	require.ErrorContains(t, err, "p.K for cpu")
}

func TestCopies(t *testing.T) {
	entries := sample(100)
	whole := parse(t, written(t, entries))
	var small bytes.Buffer
	require.NoError(t, whole.Copy(&small, func(target string) bool { return target == Common || target == "ptx:sm_90" }))
	part := parse(t, small.Bytes())
	require.NoError(t, part.Verify())
	require.Equal(t, whole.Digest(), part.Digest())
	for k, e := range entries {
		got, err := part.Get(e.Target, k)
		if e.Target == Common || e.Target == "ptx:sm_90" {
			require.NoError(t, err)
			require.Equal(t, e, got)
		} else {
			require.ErrorIs(t, err, ErrMissing)
			require.False(t, part.Has(e.Target))
		}
	}
	// A copy without sections and the sections make the whole again.
	var head, again bytes.Buffer
	require.NoError(t, whole.Copy(&head, func(string) bool { return false }))
	sections := map[string]io.Reader{}
	_, err := part.Section("none")
	require.ErrorIs(t, err, ErrMissing)
	for _, s := range whole.Header().Sections {
		_, err := parse(t, head.Bytes()).Section(s.Target)
		require.ErrorIs(t, err, ErrMissing)
		r, err := whole.Section(s.Target)
		require.NoError(t, err)
		sections[s.Target] = r
	}
	require.NoError(t, parse(t, head.Bytes()).Assemble(&again, sections))
	require.Equal(t, written(t, entries), again.Bytes())

	// Of a section that is another, no more is written than there should be.
	for _, n := range []int64{-1, 1, 1 << 24} {
		r, err := whole.Section(Common)
		require.NoError(t, err)
		again.Reset()
		from := io.MultiReader(io.LimitReader(r, r.Size()+min(n, 0)), strings.NewReader(strings.Repeat("x", int(max(n, 0)))))
		require.ErrorIs(t, parse(t, head.Bytes()).Assemble(&again, map[string]io.Reader{Common: from}), ErrFormat)
		require.LessOrEqual(t, again.Len(), head.Len()+int(r.Size())+len("0"))
	}

	var w Writer
	require.NoError(t, w.AddBundle(part))
	require.NoError(t, w.AddBundle(whole))
	require.Equal(t, 100, w.Len())
}

func TestSignatures(t *testing.T) {
	secret, public, err := NewKey()
	require.NoError(t, err)
	key, err := ParseSecret(secret)
	require.NoError(t, err)
	_, other, err := NewKey()
	require.NoError(t, err)
	entries := sample(20)
	plain, sealed := parse(t, written(t, entries)), parse(t, written(t, entries, key))
	require.Equal(t, plain.Digest(), sealed.Digest())

	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("# release\n"+public+" # me\n"), 0o600))
	for _, text := range []string{public, other + "," + public, file} {
		trust, err := ParseTrust(text)
		require.NoError(t, err)
		require.NoError(t, trust.Check(sealed))
		require.ErrorIs(t, trust.Check(plain), ErrUntrusted)
	}
	trust, err := ParseTrust(other)
	require.NoError(t, err)
	require.ErrorContains(t, trust.Check(sealed), public)
	require.NoError(t, Trust(nil).Check(plain))
	for _, text := range []string{",", "nokey", filepath.Join(t.TempDir(), "none")} {
		_, err := ParseTrust(text)
		require.Error(t, err, text)
	}

	// The signature of one bundle is not good for another one.
	stolen := parse(t, written(t, sample(21)))
	stolen.seal = sealed.seal
	trust, err = ParseTrust(public)
	require.NoError(t, err)
	require.ErrorIs(t, trust.Check(stolen), ErrUntrusted)
}

func TestRewriteSigns(t *testing.T) {
	name := filepath.Join(t.TempDir(), "app.kiln")
	require.NoError(t, os.WriteFile(name, written(t, sample(20)), 0o600))
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	all := func(string) bool { return true }
	for range 2 { // the second time changes nothing
		require.NoError(t, Rewrite(name, all, key))
		b, err := Open(name)
		require.NoError(t, err)
		require.NoError(t, b.Verify())
		require.NoError(t, Trust{key.Public().(ed25519.PublicKey)}.Check(b))
		require.Len(t, b.seal.Signatures, 1)
		require.NoError(t, b.Close())
	}
}

// TestDamage changes each byte, and cuts at each place: no entry may come out wrong.
func TestDamage(t *testing.T) {
	entries := sample(24)
	data := written(t, entries)
	step := 1
	if testing.Short() {
		step = 13
	}
	unnoticed := 0
	for i := 0; i < len(data); i += step {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		if !sound(t, bad, entries) {
			continue
		}
		unnoticed++
		require.False(t, sound(t, data[:i], entries), "cut at %d", i)
	}
	require.Less(t, unnoticed, 40, "bytes of the seal alone may change unnoticed")
}

// sound reports whether all is well with a bundle; an entry that is wrong fails the test.
func sound(t *testing.T, data []byte, want map[cache.Key]*cache.Entry) bool {
	b, err := Parse("bad", string(data))
	if err != nil {
		require.ErrorIs(t, err, ErrFormat)
		return false
	}
	ok := b.Verify() == nil
	for k, e := range want {
		got, err := b.Get(e.Target, k)
		if err == nil {
			require.Equal(t, e, got)
			continue
		}
		ok = false
	}
	return ok
}

func TestHostile(t *testing.T) {
	data := string(written(t, sample(8)))
	for name, change := range map[string][2]string{
		"entries":  {`"entries":2`, `"entries":2000000000`},
		"blocks":   {`"blocks":1`, `"blocks":9223372036854775807`},
		"fewer":    {`"blocks":1`, `"blocks":-1`},
		"size":     {`"size":`, `"size":9223372036854775`},
		"negative": {`"size":`, `"size":-`},
		"raw":      {`"raw":`, `"raw":99999999`},
		"present":  {`"present":[0,`, `"present":[9,`},
		"twice":    {`"present":[0,`, `"present":[0,0,`},
		"order":    {`"present":[0,1`, `"present":[1,0`},
		"beyond":   {`"present":[0,1,2,3`, `"present":[0,1,2,3,4`},
		"nothing":  {"kiln bundle 2", "kiln bungle 2"},
		"endless":  {"\n{", "\n" + strings.Repeat(" ", maxHeader) + "{"},
	} {
		b, err := Parse(name, strings.Replace(data, change[0], change[1], 1))
		if err == nil {
			err = b.Verify()
		}
		require.Error(t, err, name)
		require.True(t, errors.Is(err, ErrFormat), "%s: %v", name, err)
	}
}

// TestOtherFormats checks that a bundle of another release is not called damaged.
func TestOtherFormats(t *testing.T) {
	data := string(written(t, sample(8)))
	for _, version := range []string{"1", "3", "12"} {
		_, err := Parse("other.kiln", strings.Replace(data, "bundle 2", "bundle "+version, 1))
		require.ErrorIs(t, err, ErrVersion)
		require.ErrorContains(t, err, "bundle other.kiln: bundle of another format: it has format "+version+", and this release reads format 2: build it again")
	}
	for _, begin := range []string{"", "kiln", "kiln bundle ", "kiln bundle x\n", "kiln bundle \n{", "kiln bundle 2"} {
		_, err := Parse("none.kiln", begin)
		require.ErrorIs(t, err, ErrFormat, "%q", begin)
	}
}

// TestHostileFrame has frames that do not say what comes of them.
func TestHostileFrame(t *testing.T) {
	var frame bytes.Buffer
	z, err := zstd.NewWriter(&frame)
	require.NoError(t, err)
	for range 2 {
		_, err = z.Write([]byte("kiln "))
		require.NoError(t, err)
		require.NoError(t, z.Flush())
	}
	require.NoError(t, z.Close())
	out, err := expand(frame.Bytes(), 10)
	require.NoError(t, err)
	require.Equal(t, "kiln kiln ", string(out))
	for _, raw := range []int64{-1, math.MinInt64, 0, 9, 11, maxPart, maxPart + 1, math.MaxInt64} {
		_, err := expand(frame.Bytes(), raw)
		require.ErrorIs(t, err, ErrFormat, "%d", raw)
	}
}

// TestZeros has entries of which as little is left as zstd can leave.
func TestZeros(t *testing.T) {
	for _, size := range []int{blockSize - 200, blockSize, 1 << 20, 32 << 20} {
		var w Writer
		key, e := cache.NewKey("zeros"), &cache.Entry{Header: cache.Header{Kind: cache.KindMachine, Kernel: "p.K"}, Body: make([]byte, size)}
		require.NoError(t, w.Add(key, e))
		var out bytes.Buffer
		_, err := w.WriteTo(&out)
		require.NoError(t, err)
		b := parse(t, out.Bytes())
		require.NoError(t, b.Verify())
		got, err := b.Get(Common, key)
		require.NoError(t, err)
		require.True(t, bytes.Equal(e.Body, got.Body), "%d bytes", size)
	}
}

// TestManifest has manifests that say other things than the entries.
func TestManifest(t *testing.T) {
	for name, change := range map[string]func(it *Item){
		"kernel": func(it *Item) { it.Kernel = "p.Other" }, "kind": func(it *Item) { it.Kind = "" }, "types": func(it *Item) { it.Types = "int" },
		"format": func(it *Item) { it.Format = "cubin" }, "build": func(it *Item) { it.Build = "checked" }, "tool": func(it *Item) { it.Tool = "" },
		"size": func(it *Item) { it.Size++ }, "key": func(it *Item) { it.Key = cache.NewKey("1") },
	} {
		w, key := Writer{}, cache.NewKey("0")
		for k, e := range sample(8) {
			require.NoError(t, w.Add(k, e))
		}
		it := w.items[key]
		change(&it)
		w.items[key] = it
		var out bytes.Buffer
		_, err := w.WriteTo(&out)
		require.NoError(t, err, name)
		require.Error(t, parse(t, out.Bytes()).Verify(), name)
	}
}

// TestHostileIndex has indices with the right SHA-256 and records that lead astray.
func TestHostileIndex(t *testing.T) {
	entries := sample(4)
	var w Writer
	for k, e := range entries {
		if e.Target == Common {
			require.NoError(t, w.Add(k, e))
		}
	}
	var plain bytes.Buffer
	_, err := w.WriteTo(&plain)
	require.NoError(t, err)
	const packed, raw, block, at, size = 32, 36, blockRecordSize + 32, blockRecordSize + 36, blockRecordSize + 40
	for name, change := range map[string]struct {
		at    int
		value uint32
	}{
		"packed": {packed, 1 << 31}, "nothing": {packed, 0}, "raw": {raw, 1 << 31}, "shorter": {raw, 1}, "huge": {raw, math.MaxUint32},
		"block": {block, 1}, "far block": {block, math.MaxUint32}, "at": {at, math.MaxUint32}, "beyond": {at, 1 << 20}, "size": {size, 1 << 20}, "around": {size, math.MaxUint32},
	} {
		b := parse(t, reindexed(t, plain.Bytes(), func(index []byte) { binary.LittleEndian.PutUint32(index[change.at:], change.value) }))
		var err error
		for k := range w.items {
			_, err = b.Get(Common, k)
		}
		require.ErrorIs(t, err, ErrFormat, name)
		require.ErrorIs(t, b.Verify(), ErrFormat, name)
	}
	b := parse(t, reindexed(t, plain.Bytes(), func([]byte) {}))
	require.NoError(t, b.Verify())
}

// TestUnnamedBlock has a bundle with a block that nothing leads to.
func TestUnnamedBlock(t *testing.T) {
	var out bytes.Buffer
	_, err := blocksOf(t, 2).WriteTo(&out)
	require.NoError(t, err)
	b := parse(t, reindexed(t, out.Bytes(), func(index []byte) {
		for records := index[2*blockRecordSize:]; len(records) > 0; records = records[recordSize:] {
			binary.LittleEndian.PutUint32(records[len(cache.Key{}):], 0)
		}
	}))
	err = b.Verify()
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "block 1 at byte")
}

// reindexed returns a bundle of one section with another index.
func reindexed(t *testing.T, data []byte, change func(index []byte)) []byte {
	b := parse(t, data)
	data = bytes.Clone(data)
	s := b.sections[0]
	index := data[s.at:][:s.Index.Size]
	change(index)
	sum := Digest(sha256.Sum256(index))
	data = bytes.Replace(data, []byte(s.Index.SHA256.String()), []byte(sum.String()), 1)
	lines := bytes.SplitAfterN(data, []byte("\n"), 3)
	header := Digest(sha256.Sum256(lines[1]))
	return bytes.Replace(data, []byte(b.digest.String()), []byte(header.String()), 1)
}

// TestKept checks that of a bundle with more blocks than are kept every entry can be read, in
// any order and by several at a time, and that blocks are forgotten.
func TestKept(t *testing.T) {
	w := blocksOf(t, 3*keepBlocks)
	var out bytes.Buffer
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	b := parse(t, out.Bytes())
	require.Equal(t, 3*keepBlocks, b.header.Sections[0].Blocks)
	var wait sync.WaitGroup
	for range 4 {
		order := rand.Perm(w.Len())
		wait.Go(func() {
			for _, i := range order {
				k := cache.NewKey(fmt.Sprint(i))
				e, err := b.Get("ptx:sm_90", k)
				if assert.NoError(t, err) {
					_, body, _ := bytes.Cut(w.targets["ptx:sm_90"][k], []byte("\n"))
					assert.True(t, bytes.Equal(body, e.Body))
				}
			}
		})
	}
	wait.Wait()
	require.Len(t, b.blocks.kept, keepBlocks)
	require.NoError(t, b.Close()) // nobody reads ahead any more
	runtime.GC()
	held := 0
	for i := range b.sections[0].blocks {
		if b.sections[0].blocks[i].data.Value() != nil {
			held++
		}
	}
	require.LessOrEqual(t, held, keepBlocks)
}

// blocksOf has entries that are blocks of their own, every eighth of them larger than what is kept
// of several.
func blocksOf(t *testing.T, n int) *Writer {
	rng := rand.New(rand.NewPCG(3, 4))
	w := new(Writer)
	for i := range n {
		body := make([]byte, blockSize*2/3)
		if i%8 == 7 {
			body = make([]byte, 2*blockSize)
		}
		for j := 0; j < len(body); j += 64 {
			body[j] = byte(rng.Uint32())
		}
		e := &cache.Entry{Header: cache.Header{Kind: cache.KindMachine, Kernel: fmt.Sprintf("p.K%04d", i), Target: "ptx:sm_90"}, Body: body}
		require.NoError(t, w.Add(cache.NewKey(fmt.Sprint(i)), e))
	}
	return w
}

// TestReadAhead checks that blocks behind one that is used are there, and that others are not read.
func TestReadAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var out bytes.Buffer
	_, err := blocksOf(t, 4*readAhead).WriteTo(&out)
	require.NoError(t, err)
	b := parse(t, out.Bytes())
	there := func() (list []int) {
		b.blocks.wait.Wait()
		for i := range b.sections[0].blocks {
			if b.sections[0].blocks[i].data.Value() != nil {
				list = append(list, i)
			}
		}
		return list
	}
	of := func(block int) cache.Key {
		_, _ = b.Get("ptx:sm_90", cache.NewKey("none")) // has the index read
		for i := range 4 * readAhead {
			k := cache.NewKey(fmt.Sprint(i))
			if rec, ok := b.sections[0].find(k); ok && int(rec.block) == block {
				return k
			}
		}
		t.Fatalf("no entry in block %d", block)
		return cache.Key{}
	}
	first := of(1)
	require.Empty(t, there(), "to look for an entry that is not there reads no block")
	for range 2 { // the second time reads nothing more
		_, err = b.Get("ptx:sm_90", first)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 3, 4}, there())
	}
	_, err = b.Get("ptx:sm_90", of(3))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6}, there())
	runtime.KeepAlive(b)

	runtime.GOMAXPROCS(1)
	b = parse(t, out.Bytes())
	_, err = b.Get("ptx:sm_90", of(1))
	require.NoError(t, err)
	require.Equal(t, []int{1}, there())
}

// TestClose closes a bundle while others use it.
func TestClose(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var out bytes.Buffer
	w := blocksOf(t, 6*readAhead)
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	b := parse(t, out.Bytes())
	var wait sync.WaitGroup
	for range 3 {
		order := rand.Perm(w.Len())
		wait.Go(func() {
			for _, i := range order {
				_, err := b.Get("ptx:sm_90", cache.NewKey(fmt.Sprint(i)))
				assert.NoError(t, err, "it is in memory")
			}
		})
	}
	for range 10 {
		require.NoError(t, b.Close())
	}
	wait.Wait()

	b = parse(t, out.Bytes())
	require.NoError(t, b.Close())
	_, err = b.Get("ptx:sm_90", cache.NewKey("0"))
	require.NoError(t, err)
	require.Zero(t, b.blocks.readers)
	require.Empty(t, b.blocks.next)
	require.Len(t, b.blocks.kept, 1, "nobody reads ahead of what is closed")
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, sample(8)))
	f.Add(written(f, nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Parse("fuzz", string(data))
		if err != nil {
			return
		}
		_ = b.Verify()
		var out bytes.Buffer
		if b.Copy(&out, func(string) bool { return true }) == nil {
			parse(t, out.Bytes())
		}
	})
}
