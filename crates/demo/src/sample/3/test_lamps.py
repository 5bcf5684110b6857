import unittest

from lamps import burning_time


class BurningTime(unittest.TestCase):
    def test_an_evening(self):
        self.assertEqual(burning_time("17:00", "22:00"), 300)

    def test_a_night(self):
        self.assertEqual(burning_time("22:00", "06:00"), 480)


if __name__ == "__main__":
    unittest.main()
