"""A18, the bar again: the hook's request, stage by stage, until all of it has a name."""

from __future__ import annotations

from manim import Mobject

from scenes.clips.hook_picture import HookPicture
from scenes.clips.recap_closing import Closing
from scenes.clips.recap_lanes import Chapter, LaneBoard
from scenes.parts.replay_clock import replay
from scenes.render.animations import Appear, Fade, Move
from scenes.render.labels import Label
from scenes.render.scene import ClipScene, group

HASH_BASELINE_PX = 480.0


class Recap(ClipScene):
    """The grey bar; its stages dropping into their lanes; the bar in colour with a lens and three lengths."""

    def construct(self) -> None:
        """Draw the clip."""
        picture = HookPicture(self)
        self.add(*picture.finished())
        self.axis(picture.axis.entry())
        self.pause("again", alt=picture.alt(), caption="The same request, the same recording.")

        self._same_trace(picture)
        board = LaneBoard(picture)
        self._raise_bar(picture, board)
        self._passing: list[Mobject] = []
        for chapter in board.chapters:
            self._tell(picture, board, chapter)
        self._explain(board)
        self._close(picture, board)

    def _same_trace(self, picture: HookPicture) -> None:
        """Show the trace's hash large where the clock stood."""
        fade_s = self.theme.motion.fade_s
        hook_only = group(picture.clock, picture.unit, picture.speed, picture.case, picture.first_token)
        self.play(Fade(hook_only, 0, run_time=fade_s))
        self.remove(hook_only)
        digits = self.trace_set.short_hash("e23")
        same = Label(
            [("same trace  ", picture.lettering.value), (digits, picture.lettering.hash)],
            picture.scale.x0_px, HASH_BASELINE_PX, text_id="same-trace",
        )  # fmt: skip
        self.play(Appear(same, run_time=fade_s))
        self.wait(1)
        self.play(Fade(same, 0, run_time=fade_s))
        self.remove(same)

    def _raise_bar(self, picture: HookPicture, board: LaneBoard) -> None:
        """Bring bar and packet to the top and the axis to the bottom; the lanes open between them."""
        move_s, fade_s = self.theme.motion.move_s, self.theme.motion.fade_s
        self.play(
            Move(group(picture.bar, picture.packet), 0, board.strip_dy_px, run_time=move_s),
            picture.axis.move(board.axis_y_px, run_time=move_s),
        )  # fmt: skip
        self.axis(picture.axis.entry())
        self.bring_to_back(board.ground)
        self.play(Appear(board.ground, run_time=fade_s), Appear(board.lanes, run_time=fade_s))
        board.open(self)

    def _tell(self, picture: HookPicture, board: LaneBoard, chapter: Chapter) -> None:
        """Give a chapter's stages their colour on the bar, and let them fall into their lanes."""
        fade_s, move_s = self.theme.motion.fade_s, self.theme.motion.move_s
        over = board.over()
        self.remove(*over, *self._passing)
        bars = [*chapter.strip_bars, *chapter.lane_bars]
        if chapter.replayed:
            pace = board.words.pace()
            self.add(pace)
            replay(self, picture.replay, picture.scale, bars, *chapter.extent_ns, over=over)
            self.remove(pace)
        else:
            for bar, drop in chapter.drops:
                bar.shift_y(-drop)
            self.play(Appear(group(*bars), run_time=fade_s), Fade(group(*over), 1, run_time=fade_s))
            self.play(*(Move(bar, 0, drop, run_time=move_s) for bar, drop in chapter.drops))
        self._passing = [board.words.sum_words(chapter.stages, chapter.name)]
        self.play(Appear(group(chapter.words, *self._passing), run_time=fade_s))
        said = board.said(chapter)
        self.pause(chapter.name, alt=said, caption=said)

    def _explain(self, board: LaneBoard) -> None:
        """Say what is left."""
        self.remove(*self._passing)
        self._passing = [board.words.remainder()]
        self.play(Appear(self._passing[0], run_time=self.theme.motion.fade_s))
        said = board.remainder_said()
        self.pause("placed", alt=said, caption=said)

    def _close(self, picture: HookPicture, board: LaneBoard) -> None:
        """Fold the lanes back into one coloured bar; open the lens; set the three lengths under the bar."""
        closing = Closing(picture)
        fade_s, move_s = self.theme.motion.fade_s, self.theme.motion.move_s
        leaving = group(*board.below_strip(), *self._passing, picture.question)
        self.play(Fade(leaving, 0, run_time=fade_s))
        self.remove(leaving)
        self.play(
            Move(group(*board.strip(), picture.packet), 0, closing.strip_dy_px, run_time=move_s),
            picture.axis.move(closing.axis_y_px, run_time=move_s),
        )  # fmt: skip
        self.axis(picture.axis.entry())
        self.play(Appear(picture.title("recap"), run_time=fade_s), *closing.open_lens(run_time=fade_s))
        if closing.lens:
            self.axis(closing.lens.entry())
        self.play(Appear(closing.lengths, run_time=fade_s))
        self.pause("named", alt=closing.alt(), caption=closing.alt())
