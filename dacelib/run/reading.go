package run

import "fmt"

// A Reading selects one of two descriptions of the paper's methods. The text
// and the authors' public code differ in places and give different numbers; the
// paper's tables come from the code. Every result records its reading.
type Reading int

const (
	// Written follows the paper's text, with its misprints corrected; it is the
	// default.
	Written Reading = iota
	// Published follows the authors' public implementation.
	Published
)

// String returns "written" or "published".
func (r Reading) String() string {
	switch r {
	case Written:
		return "written"
	case Published:
		return "published"
	}
	return fmt.Sprintf("Reading(%d)", int(r))
}

// MarshalText encodes the reading as its name; it fails for a value that is
// neither [Written] nor [Published].
func (r Reading) MarshalText() ([]byte, error) {
	if r != Written && r != Published {
		return nil, fmt.Errorf("run: no reading has the number %d", int(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText decodes a name that [Reading.MarshalText] wrote.
func (r *Reading) UnmarshalText(text []byte) error {
	parsed, err := ParseReading(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// ParseReading returns a reading by its name: name is "written" or "published".
func ParseReading(name string) (Reading, error) {
	switch name {
	case "written":
		return Written, nil
	case "published":
		return Published, nil
	}
	return 0, fmt.Errorf("run: no reading is called %q: there are \"written\" and \"published\"", name)
}
