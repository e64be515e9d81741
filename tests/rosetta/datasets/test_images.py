"""Images for feature extraction: prepared once, as torchvision's evaluation does it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rosetta import tasks
from rosetta.datasets import DataError, images

TASK = tasks.load("resnet50").to_wire()


def put(folder: Path, name: str, pixels: np.ndarray) -> None:
    Image.fromarray(pixels.astype(np.uint8)).save(folder / name)


def test_the_middle_is_cut_out_of_the_resized_image(tmp_path: Path) -> None:
    """Twice as high and twice as wide as the 256 that it is resized to: halves stay halves."""
    pixels = np.zeros((512, 1024, 3))
    pixels[:, :512, 0], pixels[256:, :, 1] = 255, 255
    put(tmp_path, "a.png", pixels)
    (image,) = images.load(tmp_path, TASK).train.inputs
    assert (image.shape, image.dtype) == ((3, 224, 224), np.float32)
    red, green, blue = (
        plane * deviation + mean
        for plane, mean, deviation in zip(image, images.MEAN, images.DEVIATION, strict=True)
    )
    expected = np.zeros((224, 224))
    expected[:, :112] = 1
    inside = [slice(0, 110), slice(114, 224)]  # away from the edge, which resizing softens
    for part in inside:
        np.testing.assert_allclose(red[:, part], expected[:, part], atol=1e-6)
        np.testing.assert_allclose(green[part], 1 - expected.T[part], atol=1e-6)
    np.testing.assert_allclose(blue, 0, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "resized"),
    [
        ((640, 427), (383, 256)),  # 383.7
        ((427, 640), (256, 383)),
        ((1000, 667), (383, 256)),
        ((500, 500), (256, 256)),
        ((1, 1), (256, 256)),
    ],
)
def test_the_longer_side_is_rounded_down_as_torchvision_does(size, resized) -> None:
    assert images.resized_to(*size, 224, 224) == resized


def test_the_shorter_side_counts(tmp_path: Path) -> None:
    put(tmp_path, "high.png", np.full((900, 300, 3), 128))
    put(tmp_path, "wide.png", np.full((300, 900, 3), 128))
    put(tmp_path, "tiny.png", np.full((3, 2, 3), 128))
    found = images.load(tmp_path, TASK).train.inputs
    value = (np.float32(128) / 255 - np.array(images.MEAN)) / np.array(images.DEVIATION)
    np.testing.assert_allclose(found, np.broadcast_to(value[:, None, None], found.shape), rtol=1e-5)


def test_they_come_by_name_and_in_any_mode(tmp_path: Path) -> None:
    put(tmp_path, "b.png", np.full((30, 30), 255))
    put(tmp_path, "a.JPG", np.full((30, 30, 3), 0))
    Image.fromarray(np.full((30, 30, 4), 255, np.uint8)).save(tmp_path / "c.png")
    (tmp_path / "notes.txt").write_text("no image")
    dataset = images.load(tmp_path, TASK)
    assert list(dataset.source.sha256) == ["a.JPG", "b.png", "c.png"]
    dark, light, clear = dataset.train.inputs
    assert dark.max() < 0 < light.min()
    np.testing.assert_array_equal(light, clear)
    assert dataset.test is dataset.train


def test_what_is_no_image_is_named(tmp_path: Path) -> None:
    put(tmp_path, "a.png", np.zeros((30, 30, 3)))
    cut = (tmp_path / "a.png").read_bytes()[:60]
    (tmp_path / "b.png").write_bytes(cut)
    with pytest.raises(DataError, match=r"b\.png can't be read as an image \(.*\): mend it or"):
        images.load(tmp_path, TASK)


def put_deep(path: Path) -> None:
    Image.fromarray(np.arange(900, dtype=np.uint16).reshape(30, 30) * 70).save(path)


def put_tiff(path: Path) -> None:
    Image.fromarray(np.zeros((30, 30, 3), np.uint8)).save(path, format="TIFF")


def put_narrow(path: Path) -> None:
    Image.fromarray(np.zeros((9000, 1, 3), np.uint8)).save(path)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (put_deep, "more than 8 bits a channel"),
        (put_tiff, "cannot identify image file"),  # whatever its name says
        (put_narrow, "is 1×9000: too narrow for a square: take it out"),
    ],
)
def test_what_would_be_another_picture_is_refused(tmp_path: Path, make, complaint) -> None:
    make(tmp_path / "a.png")
    with pytest.raises(DataError, match=rf"a\.png .*{complaint}"):
        images.load(tmp_path, TASK)


def test_a_name_that_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "\udcff.png", np.zeros((30, 30, 3)))
    with pytest.raises(DataError, match=r"'\\udcff.png' isn't UTF-8: rename it"):
        images.load(tmp_path, TASK)


def test_what_is_no_file_is_no_image(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").mkdir()
    with pytest.raises(DataError, match=r"no \.jpeg, \.jpg, \.png in it"):
        images.load(tmp_path, TASK)


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_images_is_one_line(tmp_path: Path, there: bool) -> None:
    folder = tmp_path if there else tmp_path / "absent"
    with pytest.raises(DataError, match=f"--images {folder}: ") as caught:
        images.load(folder, TASK)
    assert "\n" not in str(caught.value)


def test_more_than_memory_holds_is_refused_before_it_is_taken(tmp_path: Path) -> None:
    put(tmp_path, "a.png", np.zeros((30, 30, 3)))
    vast = {**TASK, "input": {**TASK["input"], "shape": [3, 10**6, 10**6]}}
    with pytest.raises(DataError, match="split the folder"):
        images.load(tmp_path, vast)


def test_blocks_are_in_order_and_the_last_may_be_smaller() -> None:
    found = list(images.blocks(np.arange(7), 3))
    assert [list(block) for block in found] == [[0, 1, 2], [3, 4, 5], [6]]
