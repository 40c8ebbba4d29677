package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// recorded is a request with what the reference makes of it.
type recorded struct {
	request
	Want []result
}

// TestRandom compares random configurations with the reference, as testdata/fuzz.py recorded it.
func TestRandom(t *testing.T) {
	f, err := os.Open("../../testdata/random.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var list []recorded
	require.NoError(t, json.NewDecoder(z).Decode(&list))
	require.NotEmpty(t, list)
	for _, r := range list {
		line, err := json.Marshal(r.request)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, serve(bytes.NewReader(line), &out))
		var got answer
		require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		require.Empty(t, got.Error, r.JSON)
		require.Len(t, got.Cases, len(r.Want))
		for i, want := range r.Want {
			g := got.Cases[i]
			require.Empty(t, g.Error, "%q of %s", r.Cases[i].Text, r.JSON)
			if diff := cmp.Diff(want.known(), g.known()); diff != "" {
				t.Errorf("%q of %s: -want +got\n%s", r.Cases[i].Text, r.JSON, diff)
			}
		}
	}
}

// known is what of a result is compared: not of padding which text it is from, which the reference does
// not say.
func (r result) known() result {
	r.Parts, r.IDs, r.Streamed = r.Parts[:1], nil, ""
	p := &r.Parts[0]
	if len(p.IDs) == 0 {
		*p = part{}
	}
	return r
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	const requests = `{"JSON": "{"} {"JSON": "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}",
		"Cases": [{"Text": "YQ=="}, {"Text": "Yg=="}]} {"Cases": [{"Text": "YQ=="}]} {"File": "none"}`
	require.NoError(t, serve(strings.NewReader(requests), &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], `"Error"`)
	require.Contains(t, lines[1], `"ids":[0]`)
	require.Contains(t, lines[1], `no token for unknown characters`)
	require.Contains(t, lines[2], `"Decoded":"a"`)
	require.Contains(t, lines[3], "none")
	require.Error(t, serve(strings.NewReader("["), &out))
}
