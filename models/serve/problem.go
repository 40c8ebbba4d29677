package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gokiln/kiln/models/generate"
)

// problem is an error that a client gets.
type problem struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"-"` // the field of the request, or ""
	Code    string `json:"-"`
}

func (p *problem) Error() string { return p.Message }

// MarshalJSON writes null for what there is not.
func (p *problem) MarshalJSON() ([]byte, error) {
	null := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(map[string]any{
		"message": p.Message, "type": p.kind(), "param": null(p.Param), "code": null(p.Code),
	})
}

// kind is the type of the error in OpenAI's words.
func (p *problem) kind() string {
	switch {
	case p.Status == http.StatusUnauthorized:
		return "authentication_error"
	case p.Status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case p.Status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// bad is the problem of a field.
func bad(param, format string, args ...any) *problem {
	text := param + ": " + fmt.Sprintf(format, args...)
	return &problem{Status: http.StatusBadRequest, Param: param, Message: text}
}

// refused is a problem of no field.
func refused(status int, text string) *problem { return &problem{Status: status, Message: text} }

// problemOf is what a client is told of an error.
func problemOf(err error) *problem {
	var p *problem
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return refused(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the request has more than %d bytes", large.Limit))
	case errors.Is(err, generate.ErrBusy):
		return refused(http.StatusTooManyRequests, err.Error()+"; try again later")
	case errors.Is(err, generate.ErrClosed):
		return refused(http.StatusServiceUnavailable, "the server is shutting down")
	case errors.Is(err, context.DeadlineExceeded):
		return refused(http.StatusGatewayTimeout, "the answer took too long")
	case errors.Is(err, generate.ErrContext):
		p := refused(http.StatusBadRequest, err.Error())
		p.Code = "context_length_exceeded"
		return p
	case errors.Is(err, generate.ErrOption):
		p := refused(http.StatusBadRequest, err.Error())
		if _, text, ok := strings.Cut(p.Message, generate.ErrOption.Error()+": "); ok {
			p.Message = text
			if f := strings.Fields(text); len(f) > 1 && (f[1] == "is" || f[1] == "of") {
				p.Param = f[0]
			}
		}
		return p
	}
	return refused(http.StatusInternalServerError, err.Error())
}

// fail answers with an error. Who is gone gets none.
func fail(w http.ResponseWriter, err error) {
	p := problemOf(err)
	if errors.Is(err, context.Canceled) {
		p = refused(499, "the client is gone")
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, p.Status, map[string]any{"error": p})
}
