package construct_test

import "errors"

func limitFiles(uint64) error { return errors.New("Windows has no limit of a file's size") }
