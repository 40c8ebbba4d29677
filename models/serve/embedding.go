package serve

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
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
	m, err := s.read(r, &q, func(*Model) {})
	switch {
	case err != nil:
		return err
	case m.Embedder == nil:
		return bad("model", "%s generates text, and makes no embeddings", m.ID)
	case q.Format != "" && q.Format != "float" && q.Format != "base64":
		return bad("encoding_format", "%q, want float or base64", q.Format)
	}
	ids, err := q.Input.encode(m, "input")
	if err != nil {
		return err
	}
	if len(ids) > maxInputs {
		return bad("input", "%d, want %d at most", len(ids), maxInputs)
	}
	n := 0
	for i, list := range ids {
		if n += len(list); m.Context > 0 && len(list) > m.Context {
			return bad("input", "number %d has %d tokens, and the model can look at %d", i, len(list), m.Context)
		}
	}
	vectors, err := m.Embedder.Embed(ctx, ids)
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
