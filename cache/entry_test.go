package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is an entry with every field in use and a body that looks like parts
// of the format itself.
func sample() *Entry {
	return &Entry{
		Header: Header{
			Kind: KindArtifact, Kernel: "pkg.Add[float32]", Types: "func(dsl.Thread, []float32) <&>",
			Target: "ptx:sm_90", Format: "ptx", Tool: "kiln 1", Meta: json.RawMessage(`{"shared":1024}`),
		},
		Body: []byte("one\ntwo\n\x00\xff" + magic + "3\nend"),
	}
}

// seal appends the checksum, for files that are wrong in another way.
func seal(content string) []byte {
	sum := sha256.Sum256([]byte(content))
	return append([]byte(content), sum[:]...)
}

func TestRoundTrip(t *testing.T) {
	k := NewKey("k")
	big := bytes.Repeat([]byte{0, 1, 2, 3}, 1<<18)
	for name, e := range map[string]*Entry{
		"full":  sample(),
		"empty": {Body: []byte{}},
		"big":   {Header: Header{Kind: KindMachine}, Body: big},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := encode(k, e)
			require.NoError(t, err)
			got, err := decode(data, k)
			require.NoError(t, err)
			assert.Equal(t, e, got)
		})
	}
}

// Meta is cut off where it begins, whatever is in the words before it.
func TestCutMeta(t *testing.T) {
	for header, want := range map[string][2]string{
		`{"kind":"a","meta":{"b":[1,{"meta":2}]}}`: {`{"kind":"a"}`, `{"b":[1,{"meta":2}]}`},
		`{"kind":",\"meta\":1","meta":"x"}`:        {`{"kind":",\"meta\":1"}`, `"x"`},
		`{"kind":"a"}`:                             {`{"kind":"a"}`, ""},
		`{"kind":",\"meta\":1"}`:                   {`{"kind":",\"meta\":1"}`, ""},
		`{"kind":"a","meta":1`:                     {`{"kind":"a","meta":1`, ""},
		`{,"meta":1}`:                              {`{,"meta":1}`, ""},
		`{"kind":"a","later":2,"meta":1}`:          {`{"kind":"a","later":2,"meta":1}`, ""},
		`[]`:                                       {`[]`, ""},
		``:                                         {``, ""},
	} {
		line := []byte(header)
		rest, meta := cutMeta(line)
		assert.Equal(t, want, [2]string{rest, string(meta)})
		assert.Equal(t, header, string(line), "it is the caller's")
	}
	// What any header is encoded to is cut where Meta begins.
	h := Header{Kind: `,"meta":{`, Kernel: `"`, Meta: json.RawMessage(`{"a":",\"meta\":"}`)}
	whole, err := json.Marshal(h)
	require.NoError(t, err)
	rest, meta := cutMeta(whole)
	var got Header
	require.NoError(t, json.Unmarshal([]byte(rest), &got))
	got.Meta = meta
	assert.Equal(t, h, got)
}

// TestParseHeader has headers that are of the plain form and some that are not: both ways to
// read one agree on it.
func TestParseHeader(t *testing.T) {
	plain := Header{Kind: "k", Kernel: "p.K[[]float32]", Types: "func()", Target: "ptx:sm_90", Format: "ptx", Build: "small,aligned", Tool: "t"}
	other := plain
	other.Kernel = `p.K["a/b".T] ü`
	for _, h := range []storedHeader{{}, {Key: NewKey("k"), Header: plain}, {Key: NewKey("k"), Header: other}} {
		text, err := json.Marshal(h)
		require.NoError(t, err)
		got, ok := plainHeader(string(text))
		assert.Equal(t, h.Kernel != other.Kernel, ok)
		if ok {
			assert.Equal(t, h, got)
		}
		got, err = parseHeader(text)
		require.NoError(t, err)
		assert.Equal(t, h, got)
		parsed, err := ParseHeader(text)
		require.NoError(t, err)
		assert.Equal(t, h.Header, parsed)
	}
	for _, text := range []string{`{"key":"abc"}`, `{"kind":1}`, `{`, `[]`, `{"kind":"a"}}`} {
		_, err := ParseHeader([]byte(text))
		require.ErrorIs(t, err, errHeader, text)
	}
	h, err := ParseHeader([]byte(`{"kind":"a","later":{"b":1}}`))
	require.NoError(t, err, "of a later release")
	assert.Equal(t, "a", h.Kind)
}

// FuzzHeader checks that a header that is read is JSON, and says the same to encoding/json.
func FuzzHeader(f *testing.F) {
	for _, text := range []string{
		`{"kind":"a","kernel":"b","types":"c","target":"d","format":"e","build":"f","tool":"g","meta":{"x":[1,2,{"meta":3}]}}`,
		`{"kind":"a","meta":1,"meta":2}`, `{"kind":"a","kind":"b","KIND":"c","meta":{}}`, `{"kind":"a,\"meta\":1","meta":{},"kind":"c"}`,
		`{"x":{"a":1,"meta":1}}`, `{,"meta":{}}`, `{"kind":"a" ,"Meta":2,"meta":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeHeader(text)
		if err != nil {
			return
		}
		var want storedHeader
		require.NoError(t, json.Unmarshal(text, &want))
		require.Equal(t, string(bytes.TrimSpace(want.Meta)), string(bytes.TrimSpace(got.Meta)))
		want.Meta, got.Meta = nil, nil
		require.Equal(t, want, got)
	})
}

// The first lines are for people: they must say what the entry is.
func TestHeaderIsReadable(t *testing.T) {
	k := NewKey("k")
	data, err := encode(k, sample())
	require.NoError(t, err)
	lines := strings.SplitN(string(data), "\n", 4)
	assert.Equal(t, "kiln cache 1", lines[0])
	assert.Equal(t, `{"key":"`+k.String()+`","kind":"artifact","kernel":"pkg.Add[float32]",`+
		`"types":"func(dsl.Thread, []float32) <&>","target":"ptx:sm_90","format":"ptx","tool":"kiln 1","meta":{"shared":1024}}`, lines[1])
	assert.Equal(t, "28", lines[2])
}

func TestEncodeRefuses(t *testing.T) {
	_, err := encode(Key{}, &Entry{Header: Header{Meta: json.RawMessage("{")}})
	assert.ErrorContains(t, err, "encode header")
	_, err = encode(Key{}, &Entry{Header: Header{Tool: strings.Repeat("x", maxHeaderBytes)}})
	assert.ErrorContains(t, err, "over the limit")

	// A header may just have the limit's length.
	longest := func(more int) *Entry {
		h := Header{Tool: "x"}
		line, err := json.Marshal(storedHeader{Header: h})
		require.NoError(t, err)
		h.Tool += strings.Repeat("x", maxHeaderBytes-len(line)-1+more)
		return &Entry{Header: h}
	}
	s := open(t)
	require.NoError(t, s.Put(Key{}, longest(0)))
	e, ok := s.Get(Key{})
	require.True(t, ok)
	assert.Equal(t, longest(0).Header, e.Header)
	assert.Len(t, s.List(), 1)
	_, err = encode(Key{}, longest(1))
	assert.ErrorContains(t, err, "over the limit")
}

func TestDecodeRefuses(t *testing.T) {
	k := NewKey("k")
	good, err := encode(k, sample())
	require.NoError(t, err)
	header := strings.SplitAfterN(string(good), "\n", 3)[1]
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":             {nil, errMagic},
		"foreign":           {[]byte("\x7fELF and so on"), errMagic},
		"other version":     {bytes.Replace(good, []byte("cache 1"), []byte("cache 2"), 1), errMagic},
		"magic only":        {[]byte(magic), errChecksum},
		"appended":          {append(bytes.Clone(good), 0), errChecksum},
		"no header line":    {seal(magic + "{}"), errHeader},
		"header no object":  {seal(magic + "[]\n0\n"), errHeader},
		"header no key":     {seal(magic + "{}\n0\n"), errWrongKey},
		"header bad key":    {seal(magic + `{"key":"abc"}` + "\n0\n"), errHeader},
		"no length line":    {seal(magic + header + "5"), errLength},
		"length too small":  {seal(magic + header + "4\nhello"), errLength},
		"length too big":    {seal(magic + header + "6\nhello"), errLength},
		"length negative":   {seal(magic + header + "-5\nhello"), errLength},
		"length with plus":  {seal(magic + header + "+5\nhello"), errLength},
		"length with zeros": {seal(magic + header + "05\nhello"), errLength},
		"length overflows":  {seal(magic + header + "99999999999999999999\nhello"), errLength},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(c.data, k)
			assert.ErrorIs(t, err, c.want)
		})
	}
	_, err = decode(seal(magic+header+"5\nhello"), k)
	assert.NoError(t, err, "the cases above must fail for their own reason")
	_, err = decode(good, NewKey("other"))
	assert.ErrorIs(t, err, errWrongKey)
}

func TestDecodeTruncatedAndFlipped(t *testing.T) {
	k := NewKey("k")
	good, err := encode(k, sample())
	require.NoError(t, err)
	for n := range good {
		_, err := decode(good[:n], k)
		require.Error(t, err, "truncated to %d bytes", n)
	}
	for bit := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		_, err := decode(bad, k)
		require.Error(t, err, "bit %d flipped", bit)
	}
}

func FuzzDecode(f *testing.F) {
	k := NewKey("k")
	good, err := encode(k, sample())
	if err != nil {
		f.Fatal(err)
	}
	content := good[:len(good)-sha256.Size]
	f.Add(good, false)
	f.Add(content, true)
	f.Add([]byte(magic+`{"key":"`+k.String()+`","meta":null}`+"\n0\n"), true)
	f.Add([]byte(magic+`{"key":"`+k.String()+`","meta":A}`+"\n0\n"), true)
	f.Add([]byte(magic), true)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed { // so that the fuzzer gets past the checksum
			data = seal(string(data))
		}
		e, err := decode(data, k)
		if err != nil {
			return
		}
		again, err := encode(k, e)
		if err != nil {
			t.Fatalf("decoded entry does not encode: %v", err)
		}
		e2, err := decode(again, k)
		if err != nil || !bytes.Equal(e.Body, e2.Body) {
			t.Fatalf("second round differs: %v", err)
		}
	})
}

func TestKey(t *testing.T) {
	assert.Equal(t, NewKey("a", "b"), NewKey([]byte("a"), []byte("b")))
	seen := map[Key][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"ab", ""}, {"", "ab"}} {
		k := NewKey(parts...)
		assert.NotContains(t, seen, k, "%q", parts)
		seen[k] = parts

		back, err := ParseKey(k.String())
		assert.NoError(t, err)
		assert.Equal(t, k, back)
	}
	for _, bad := range []string{"", "ab", strings.Repeat("g", 64), strings.Repeat("A", 64), strings.Repeat("0", 66)} {
		_, err := ParseKey(bad)
		assert.ErrorContains(t, err, "64 lower-case", "%q", bad)
	}
	// Keys outlive programs: the function must never change.
	assert.Equal(t, "3d0df113c577d8235719b4c04c54fae038ac2263b767f56c7e4e5a825cb823ab", NewKey("kiln", "key").String())
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "17b": 17, " 512MB ": 512e6, "512 mb": 512e6, "1.5GiB": 3 << 29, "2KiB": 2048, "3TB": 3e12, "1tib": 1 << 40, "4kb": 4000,
	} {
		got, err := ParseSize(s)
		assert.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "MB", "-1", "1XB", "nan", "inf", "1e30", "9223372036854775808", "1 2", "0x"} {
		_, err := ParseSize(s)
		assert.ErrorContains(t, err, "size", s)
	}
}
