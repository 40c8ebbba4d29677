// Package clash declares the names that generated code would have liked.
package clash
