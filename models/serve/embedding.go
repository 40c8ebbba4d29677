package serve

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// embeddingRequest is the body of a request to /v1/embeddings.
type embeddingRequest struct {
	Model      string `json:"model"`
	Input      inputs `json:"input"`
	Format     string `json:"encoding_format"`
	Dimensions *int   `json:"dimensions"`
}

// embedding is a vector of a text.
type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	Vector any    `json:"embedding"`
}

// embed answers /v1/embeddings.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	var q embeddingRequest
	m, err := s.read(w, r, &q, func(*Model) {})
	switch {
	case err != nil:
		return err
	case m.Embedder == nil:
		return bad("model", "%s generates text, and makes no embeddings", m.ID)
	case q.Format != "" && q.Format != "float" && q.Format != "base64":
		return bad("encoding_format", "%q, want float or base64", q.Format)
	}
	texts := q.Input.texts
	switch {
	case len(q.Input.ids) > 0:
		return bad("input", "want texts; ids of tokens are not taken")
	case len(texts) == 0:
		return bad("input", "there is none")
	case len(texts) > maxInputs:
		return bad("input", "%d, want %d at most", len(texts), maxInputs)
	}
	vectors, n, err := m.Embedder.Embed(ctx, texts)
	if err != nil {
		return ended(ctx, err)
	}
	data := make([]embedding, len(vectors))
	for i, v := range vectors {
		if d := q.Dimensions; d != nil {
			if *d < 1 || *d > len(v) {
				return bad("dimensions", "%d, want 1 to %d", *d, len(v))
			}
			v = shortened(v, *d)
		}
		data[i] = embedding{"embedding", i, v}
		if q.Format == "base64" {
			data[i].Vector = packed(v)
		}
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "model": m.ID, "data": data,
		"usage": map[string]int{"prompt_tokens": n, "total_tokens": n}})
	return nil
}

// encoderOf is an [Embedder] of an encoder, for one client at a time.
type encoderOf struct {
	device sync.Locker
	e      *models.Encoder
}

// NewEncoder returns a model of an encoder as [models.OpenEncoder] has loaded it. The device is held
// while it is used; it is [generate.BatchOptions.Device] of the other models there.
func NewEncoder(id string, e *models.Encoder, device sync.Locker) *Model {
	return &Model{ID: id, Created: time.Now(), Context: e.MaxTokens, Embedder: &encoderOf{device, e}}
}

// textsAtOnce is how many vectors are made before it is looked whether the client is there.
const textsAtOnce = 64

// Embed implements [Embedder].
func (e *encoderOf) Embed(
	ctx context.Context, texts []string,
) (out [][]float32, tokens int, err error) {
	e.device.Lock()
	defer e.device.Unlock()
	for part := range slices.Chunk(texts, textsAtOnce) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		list := make([]*tokenizers.Encoding, len(part))
		for i, text := range part {
			if list[i], err = e.e.Tokens(e.e.Prompt + text); err != nil {
				return nil, 0, bad("input", "%v", err)
			}
			tokens += len(list[i].IDs)
		}
		all, err := tensor.ToSlice[float32](e.e.EmbedTokens(list))
		if err != nil {
			return nil, 0, err
		}
		out = slices.AppendSeq(out, slices.Chunk(all, len(all)/len(part)))
	}
	return out, tokens, nil
}

// maxInputs is how many texts a request may have.
const maxInputs = 2048

// shortened is the first numbers of a vector, of length 1 again.
func shortened(v []float32, n int) []float32 {
	sum := 0.0
	for _, x := range v[:n] {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(float64(v[i]) / math.Sqrt(max(sum, math.SmallestNonzeroFloat64)))
	}
	return out
}

// packed is the bytes of a vector in base64.
func packed(v []float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}
